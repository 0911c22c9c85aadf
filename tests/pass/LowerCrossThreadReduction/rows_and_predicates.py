# SPDX-License-Identifier: Apache-2.0
# threadIdx.y has rows of its own; conditions guard what is added and what is written, not the barriers.\nThe init is no neutral element and is joined in once.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((10, 13), "float32"), C: T.Buffer((10,), "float32")):
        for b in T.thread_binding(3, thread="blockIdx.x"):
            for ty in T.thread_binding(4, thread="threadIdx.y"):
                for tx in T.thread_binding(2, thread="threadIdx.x"):
                    for k in range(7):
                        with T.sblock("C"):
                            vi = T.axis.spatial(10, b * 4 + ty)
                            vk = T.axis.reduce(13, k * 2 + tx)
                            T.where(b * 4 + ty < 10 and k * 2 + tx < 13)
                            with T.init():
                                C[vi] = T.float32(3)
                            C[vi] = T.max(C[vi], A[vi, vk])
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((10, 13), "float32"), C: T.Buffer((10,), "float32")):
        # with T.sblock("root"):
        for b in T.thread_binding(3, thread="blockIdx.x"):
            for ty in T.thread_binding(4, thread="threadIdx.y"):
                for tx in T.thread_binding(2, thread="threadIdx.x"):
                    C_own = T.alloc_buffer((1,), scope="local")
                    C_red = T.alloc_buffer((4, 2), scope="shared")
                    C_own[0] = T.float32("-inf")
                    for k in range(7):
                        with T.sblock("C"):
                            vi = T.axis.spatial(10, b * 4 + ty)
                            vk = T.axis.reduce(13, k * 2 + tx)
                            T.where(b * 4 + ty < 10 and k * 2 + tx < 13)
                            T.reads(C_own[0], A[vi, vk])
                            T.writes(C_own[0])
                            C_own[0] = T.max(C_own[0], A[vi, vk])
                    C_red[ty, tx] = C_own[0]
                    T.tvm_storage_sync("shared")
                    if tx < 1:
                        C_red[ty, tx] = T.max(C_red[ty, tx], C_red[ty, tx + 1])
                    T.tvm_storage_sync("shared")
                    if b * 4 + ty < 10 and b * 4 + ty < 10 and tx == 0:
                        C[b * 4 + ty] = T.max(T.float32(3.0), C_red[ty, 0])
