# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "opencl", "thread_warp_size": 16, "features": ["subgroups", "cl_khr_subgroup_clustered_reduce"]}
# What devices make of NaN in the largest of floats is their own: not without shuffles.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((3, 32), "float32"), C: T.Buffer((3,), "float32")):
        for b in T.thread_binding(3, thread="blockIdx.x"):
            for ty in T.thread_binding(1, thread="threadIdx.y"):
                for tx in T.thread_binding(16, thread="threadIdx.x"):
                    for k in range(2):
                        with T.sblock("C"):
                            vi = T.axis.spatial(3, b * 1 + ty)
                            vk = T.axis.reduce(32, k * 16 + tx)
                            with T.init():
                                C[vi] = T.float32(0)
                            C[vi] = T.max(C[vi], A[vi, vk])
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((3, 32), "float32"), C: T.Buffer((3,), "float32")):
        # with T.sblock("root"):
        for b in T.thread_binding(3, thread="blockIdx.x"):
            for ty in T.thread_binding(1, thread="threadIdx.y"):
                for tx in T.thread_binding(16, thread="threadIdx.x"):
                    C_own = T.alloc_buffer((1,), scope="local")
                    C_red = T.alloc_buffer((1, 16), scope="shared")
                    C_own[0] = T.float32("-inf")
                    for k in range(2):
                        with T.sblock("C"):
                            vi = T.axis.spatial(3, b + ty)
                            vk = T.axis.reduce(32, k * 16 + tx)
                            T.reads(C_own[0], A[vi, vk])
                            T.writes(C_own[0])
                            C_own[0] = T.max(C_own[0], A[vi, vk])
                    C_red[ty, tx] = C_own[0]
                    T.tvm_storage_sync("shared")
                    if tx < 8:
                        C_red[ty, tx] = T.max(C_red[ty, tx], C_red[ty, tx + 8])
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
                    if tx == 0:
                        C[b + ty] = T.max(T.float32(0.0), C_red[ty, 0])
