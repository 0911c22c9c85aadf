# SPDX-License-Identifier: Apache-2.0
# Six threads add: two steps of the tree after one for what is more than four.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((8, 24), "float32"), C: T.Buffer((8,), "float32")):
        for b in T.thread_binding(8, thread="blockIdx.x"):
            for k in range(4):
                for t in T.thread_binding(6, thread="threadIdx.x"):
                    with T.sblock("C"):
                        vi = T.axis.spatial(8, b)
                        vk = T.axis.reduce(24, k * 6 + t)
                        with T.init():
                            C[vi] = T.float32(0)
                        C[vi] = C[vi] + A[vi, vk]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8, 24), "float32"), C: T.Buffer((8,), "float32")):
        # with T.sblock("root"):
        for b in T.thread_binding(8, thread="blockIdx.x"):
            for t in T.thread_binding(6, thread="threadIdx.x"):
                C_own = T.alloc_buffer((1,), scope="local")
                C_red = T.alloc_buffer((1, 6), scope="shared")
                C_own[0] = T.float32(0.0)
                for k in range(4):
                    for t_1 in T.thread_binding(6, thread="threadIdx.x"):
                        with T.sblock("C"):
                            vi = T.axis.remap("S", [b])
                            vk = T.axis.reduce(24, k * 6 + t_1)
                            T.reads(C_own[0], A[vi, vk])
                            T.writes(C_own[0])
                            C_own[0] = C_own[0] + A[vi, vk]
                C_red[0, t] = C_own[0]
                T.tvm_storage_sync("shared")
                if t < 2:
                    C_red[0, t] = C_red[0, t] + C_red[0, t + 4]
                T.tvm_storage_sync("shared")
                if t < 2:
                    C_red[0, t] = C_red[0, t] + C_red[0, t + 2]
                T.tvm_storage_sync("shared")
                if t < 1:
                    C_red[0, t] = C_red[0, t] + C_red[0, t + 1]
                T.tvm_storage_sync("shared")
                if t == 0:
                    C[b] = C_red[0, 0]
