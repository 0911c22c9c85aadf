# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "opencl", "thread_warp_size": 32, "features": ["subgroups", "cl_khr_subgroup_shuffle"]}
# Four rows in a warp: without shared memory where warps are as wanted.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((12, 16), "float32"), C: T.Buffer((12,), "float32")):
        for b in T.thread_binding(3, thread="blockIdx.x"):
            for ty in T.thread_binding(4, thread="threadIdx.y"):
                for tx in T.thread_binding(8, thread="threadIdx.x"):
                    for k in range(2):
                        with T.sblock("C"):
                            vi = T.axis.spatial(12, b * 4 + ty)
                            vk = T.axis.reduce(16, k * 8 + tx)
                            with T.init():
                                C[vi] = T.float32(-1)
                            C[vi] = T.max(C[vi], A[vi, vk])
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((12, 16), "float32"), C: T.Buffer((12,), "float32")):
        # with T.sblock("root"):
        for b in T.thread_binding(3, thread="blockIdx.x"):
            for ty in T.thread_binding(4, thread="threadIdx.y"):
                for tx in T.thread_binding(8, thread="threadIdx.x"):
                    C_own = T.alloc_buffer((1,), scope="local")
                    C_red = T.alloc_buffer((4, 8), scope="shared")
                    C_own[0] = T.float32("-inf")
                    for k in range(2):
                        with T.sblock("C"):
                            vi = T.axis.spatial(12, b * 4 + ty)
                            vk = T.axis.reduce(16, k * 8 + tx)
                            T.reads(C_own[0], A[vi, vk])
                            T.writes(C_own[0])
                            C_own[0] = T.max(C_own[0], A[vi, vk])
                    if T.warp_size_is(32):
                        C_other: T.let[T.float32] = T.call_intrin("float32", "tirx.tvm_warp_shuffle_xor", -1, C_own[0], 4, 8, 32)
                        C_own[0] = T.max(C_own[0], C_other)
                        C_other_1: T.let[T.float32] = T.call_intrin("float32", "tirx.tvm_warp_shuffle_xor", -1, C_own[0], 2, 8, 32)
                        C_own[0] = T.max(C_own[0], C_other_1)
                        C_other_2: T.let[T.float32] = T.call_intrin("float32", "tirx.tvm_warp_shuffle_xor", -1, C_own[0], 1, 8, 32)
                        C_own[0] = T.max(C_own[0], C_other_2)
                    else:
                        C_red[ty, tx] = C_own[0]
                        T.tvm_storage_sync("shared")
                        if tx < 4:
                            C_red[ty, tx] = T.max(C_red[ty, tx], C_red[ty, tx + 4])
                        T.tvm_storage_sync("shared")
                        if tx < 2:
                            C_red[ty, tx] = T.max(C_red[ty, tx], C_red[ty, tx + 2])
                        T.tvm_storage_sync("shared")
                        if tx < 1:
                            C_red[ty, tx] = T.max(C_red[ty, tx], C_red[ty, tx + 1])
                        T.tvm_storage_sync("shared")
                        C_own[0] = C_red[ty, 0]
                    if tx == 0:
                        C[b * 4 + ty] = T.max(T.float32(-1.0), C_own[0])
