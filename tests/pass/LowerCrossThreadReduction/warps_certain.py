# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "cuda"}
# Warps of a certain size: no other form, and a share for each warp.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((3, 256), "float32"), C: T.Buffer((3,), "float32")):
        for b in T.thread_binding(3, thread="blockIdx.x"):
            for ty in T.thread_binding(1, thread="threadIdx.y"):
                for tx in T.thread_binding(128, thread="threadIdx.x"):
                    for k in range(2):
                        with T.sblock("C"):
                            vi = T.axis.spatial(3, b * 1 + ty)
                            vk = T.axis.reduce(256, k * 128 + tx)
                            with T.init():
                                C[vi] = T.float32(0)
                            C[vi] = C[vi] + A[vi, vk]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((3, 256), "float32"), C: T.Buffer((3,), "float32")):
        # with T.sblock("root"):
        for b in T.thread_binding(3, thread="blockIdx.x"):
            for ty in T.thread_binding(1, thread="threadIdx.y"):
                for tx in T.thread_binding(128, thread="threadIdx.x"):
                    C_own = T.alloc_buffer((1,), scope="local")
                    C_red = T.alloc_buffer((1, 4), scope="shared")
                    C_own[0] = T.float32(0.0)
                    for k in range(2):
                        with T.sblock("C"):
                            vi = T.axis.spatial(3, b + ty)
                            vk = T.axis.reduce(256, k * 128 + tx)
                            T.reads(C_own[0], A[vi, vk])
                            T.writes(C_own[0])
                            C_own[0] = C_own[0] + A[vi, vk]
                    C_other: T.let[T.float32] = T.call_intrin("float32", "tirx.tvm_warp_shuffle_xor", -1, C_own[0], 16, 32, 32)
                    C_own[0] = C_own[0] + C_other
                    C_other_1: T.let[T.float32] = T.call_intrin("float32", "tirx.tvm_warp_shuffle_xor", -1, C_own[0], 8, 32, 32)
                    C_own[0] = C_own[0] + C_other_1
                    C_other_2: T.let[T.float32] = T.call_intrin("float32", "tirx.tvm_warp_shuffle_xor", -1, C_own[0], 4, 32, 32)
                    C_own[0] = C_own[0] + C_other_2
                    C_other_3: T.let[T.float32] = T.call_intrin("float32", "tirx.tvm_warp_shuffle_xor", -1, C_own[0], 2, 32, 32)
                    C_own[0] = C_own[0] + C_other_3
                    C_other_4: T.let[T.float32] = T.call_intrin("float32", "tirx.tvm_warp_shuffle_xor", -1, C_own[0], 1, 32, 32)
                    C_own[0] = C_own[0] + C_other_4
                    if T.truncmod(tx, 32) == 0:
                        C_red[ty, T.Div(tx, 32)] = C_own[0]
                    T.tvm_storage_sync("shared")
                    C_own[0] = C_red[ty, T.truncmod(T.truncmod(tx, 32), 4)]
                    C_other_5: T.let[T.float32] = T.call_intrin("float32", "tirx.tvm_warp_shuffle_xor", -1, C_own[0], 2, 4, 32)
                    C_own[0] = C_own[0] + C_other_5
                    C_other_6: T.let[T.float32] = T.call_intrin("float32", "tirx.tvm_warp_shuffle_xor", -1, C_own[0], 1, 4, 32)
                    C_own[0] = C_own[0] + C_other_6
                    if tx == 0:
                        C[b + ty] = C_own[0]
