# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "opencl", "thread_warp_size": 32, "features": ["subgroups", "cl_khr_subgroup_shuffle"]}
# Threads of one reduction are not neighbours: the tree.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((96, 8), "float32"), C: T.Buffer((96,), "float32")):
        for b in T.thread_binding(3, thread="blockIdx.x"):
            for ty in T.thread_binding(4, thread="threadIdx.y"):
                for tx in T.thread_binding(32, thread="threadIdx.x"):
                    for k in range(2):
                        with T.sblock("C"):
                            vi = T.axis.spatial(96, b * 32 + tx)
                            vk = T.axis.reduce(8, k * 4 + ty)
                            with T.init():
                                C[vi] = T.float32(0)
                            C[vi] = C[vi] + A[vi, vk]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((96, 8), "float32"), C: T.Buffer((96,), "float32")):
        # with T.sblock("root"):
        for b in T.thread_binding(3, thread="blockIdx.x"):
            for ty in T.thread_binding(4, thread="threadIdx.y"):
                for tx in T.thread_binding(32, thread="threadIdx.x"):
                    C_own = T.alloc_buffer((1,), scope="local")
                    C_red = T.alloc_buffer((4, 32), scope="shared")
                    C_own[0] = T.float32(0.0)
                    for k in range(2):
                        with T.sblock("C"):
                            vi = T.axis.spatial(96, b * 32 + tx)
                            vk = T.axis.reduce(8, k * 4 + ty)
                            T.reads(C_own[0], A[vi, vk])
                            T.writes(C_own[0])
                            C_own[0] = C_own[0] + A[vi, vk]
                    C_red[ty, tx] = C_own[0]
                    T.tvm_storage_sync("shared")
                    if ty < 2:
                        C_red[ty, tx] = C_red[ty, tx] + C_red[ty + 2, tx]
                    T.tvm_storage_sync("shared")
                    if ty < 1:
                        C_red[ty, tx] = C_red[ty, tx] + C_red[ty + 1, tx]
                    T.tvm_storage_sync("shared")
                    if ty == 0:
                        C[b * 32 + tx] = C_red[0, tx]
