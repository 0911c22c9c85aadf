# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "opencl", "thread_warp_size": 16, "features": ["subgroups", "cl_khr_subgroup_clustered_reduce"]}
# Sums of whole warps and of parts of them.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((3, 256), "int32"), C: T.Buffer((3,), "int32")):
        for b in T.thread_binding(3, thread="blockIdx.x"):
            for ty in T.thread_binding(1, thread="threadIdx.y"):
                for tx in T.thread_binding(128, thread="threadIdx.x"):
                    for k in range(2):
                        with T.sblock("C"):
                            vi = T.axis.spatial(3, b * 1 + ty)
                            vk = T.axis.reduce(256, k * 128 + tx)
                            with T.init():
                                C[vi] = T.int32(0)
                            C[vi] = C[vi] + A[vi, vk]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((3, 256), "int32"), C: T.Buffer((3,), "int32")):
        # with T.sblock("root"):
        for b in T.thread_binding(3, thread="blockIdx.x"):
            for ty in T.thread_binding(1, thread="threadIdx.y"):
                for tx in T.thread_binding(128, thread="threadIdx.x"):
                    C_own = T.alloc_buffer((1,), "int32", scope="local")
                    C_red = T.alloc_buffer((1, 128), "int32", scope="shared")
                    C_own[0] = 0
                    for k in range(2):
                        with T.sblock("C"):
                            vi = T.axis.spatial(3, b + ty)
                            vk = T.axis.reduce(256, k * 128 + tx)
                            T.reads(C_own[0], A[vi, vk])
                            T.writes(C_own[0])
                            C_own[0] = C_own[0] + A[vi, vk]
                    if T.warp_size_is(16):
                        C_own[0] = T.warp_reduce(C_own[0], "add", 16, 16)
                        if T.truncmod(tx, 16) == 0:
                            C_red[ty, T.Div(tx, 16)] = C_own[0]
                        T.tvm_storage_sync("shared")
                        C_own[0] = C_red[ty, T.truncmod(T.truncmod(tx, 16), 8)]
                        C_own[0] = T.warp_reduce(C_own[0], "add", 8, 16)
                    else:
                        C_red[ty, tx] = C_own[0]
                        T.tvm_storage_sync("shared")
                        if tx < 64:
                            C_red[ty, tx] = C_red[ty, tx] + C_red[ty, tx + 64]
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
                        C[b + ty] = C_own[0]
