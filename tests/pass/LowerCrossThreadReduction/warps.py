# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "opencl", "thread_warp_size": 32, "features": ["subgroups", "cl_khr_subgroup_shuffle"]}
# Two warps a row: shuffles, then a share for each warp in shared memory, which all threads join. The tree remains for other sizes.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((6, 128), "float32"), C: T.Buffer((6,), "float32")):
        for b in T.thread_binding(3, thread="blockIdx.x"):
            for ty in T.thread_binding(2, thread="threadIdx.y"):
                for tx in T.thread_binding(64, thread="threadIdx.x"):
                    for k in range(2):
                        with T.sblock("C"):
                            vi = T.axis.spatial(6, b * 2 + ty)
                            vk = T.axis.reduce(128, k * 64 + tx)
                            with T.init():
                                C[vi] = T.float32(0)
                            C[vi] = C[vi] + A[vi, vk]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((6, 128), "float32"), C: T.Buffer((6,), "float32")):
        # with T.sblock("root"):
        for b in T.thread_binding(3, thread="blockIdx.x"):
            for ty in T.thread_binding(2, thread="threadIdx.y"):
                for tx in T.thread_binding(64, thread="threadIdx.x"):
                    C_own = T.alloc_buffer((1,), scope="local")
                    C_red = T.alloc_buffer((2, 64), scope="shared")
                    C_own[0] = T.float32(0.0)
                    for k in range(2):
                        with T.sblock("C"):
                            vi = T.axis.spatial(6, b * 2 + ty)
                            vk = T.axis.reduce(128, k * 64 + tx)
                            T.reads(C_own[0], A[vi, vk])
                            T.writes(C_own[0])
                            C_own[0] = C_own[0] + A[vi, vk]
                    if T.warp_size_is(32):
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
                        C_own[0] = C_red[ty, T.truncmod(T.truncmod(tx, 32), 2)]
                        C_other_5: T.let[T.float32] = T.call_intrin("float32", "tirx.tvm_warp_shuffle_xor", -1, C_own[0], 1, 2, 32)
                        C_own[0] = C_own[0] + C_other_5
                    else:
                        C_red[ty, tx] = C_own[0]
                        T.tvm_storage_sync("shared")
                        if tx < 32:
                            C_red[ty, tx] = C_red[ty, tx] + C_red[ty, tx + 32]
                        T.tvm_storage_sync("shared")
                        if tx < 16:
                            C_red[ty, tx] = C_red[ty, tx] + C_red[ty, tx + 16]
                        T.tvm_storage_sync("shared")
                        if tx < 8:
                            C_red[ty, tx] = C_red[ty, tx] + C_red[ty, tx + 8]
                        T.tvm_storage_sync("shared")
                        if tx < 4:
                            C_red[ty, tx] = C_red[ty, tx] + C_red[ty, tx + 4]
                        T.tvm_storage_sync("shared")
                        if tx < 2:
                            C_red[ty, tx] = C_red[ty, tx] + C_red[ty, tx + 2]
                        T.tvm_storage_sync("shared")
                        if tx < 1:
                            C_red[ty, tx] = C_red[ty, tx] + C_red[ty, tx + 1]
                        T.tvm_storage_sync("shared")
                        C_own[0] = C_red[ty, 0]
                    if tx == 0:
                        C[b * 2 + ty] = C_own[0]
