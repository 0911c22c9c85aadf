# SPDX-License-Identifier: Apache-2.0
# Several results that are joined each with itself; an init that is no neutral element is joined in once.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((8, 100), "float32"), S: T.Buffer((8,), "float32"), Q: T.Buffer((8,), "float32")):
        for b in T.thread_binding(8, thread="blockIdx.x"):
            for k in range(25):
                for t in T.thread_binding(4, thread="threadIdx.x"):
                    with T.sblock("moments"):
                        vi = T.axis.spatial(8, b)
                        vk = T.axis.reduce(100, k * 4 + t)
                        with T.init():
                            S[vi] = T.float32(0)
                            Q[vi] = T.float32(1)
                        s: T.let[T.float32] = S[vi] + A[vi, vk]
                        q: T.let[T.float32] = Q[vi] + A[vi, vk] * A[vi, vk]
                        S[vi] = s
                        Q[vi] = q
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8, 100), "float32"), S: T.Buffer((8,), "float32"), Q: T.Buffer((8,), "float32")):
        # with T.sblock("root"):
        for b in T.thread_binding(8, thread="blockIdx.x"):
            for t in T.thread_binding(4, thread="threadIdx.x"):
                moments_0_own = T.alloc_buffer((1,), scope="local")
                moments_1_own = T.alloc_buffer((1,), scope="local")
                moments_0_red = T.alloc_buffer((1, 4), scope="shared")
                moments_1_red = T.alloc_buffer((1, 4), scope="shared")
                moments_0_own[0] = T.float32(0.0)
                moments_1_own[0] = T.float32(0.0)
                for k in range(25):
                    for t_1 in T.thread_binding(4, thread="threadIdx.x"):
                        with T.sblock("moments"):
                            vi = T.axis.remap("S", [b])
                            vk = T.axis.reduce(100, k * 4 + t_1)
                            T.reads(moments_0_own[0], moments_1_own[0], A[vi, vk])
                            T.writes(moments_0_own[0], moments_1_own[0])
                            moments_0_own[0] = moments_0_own[0] + A[vi, vk]
                            moments_1_own[0] = moments_1_own[0] + A[vi, vk] * A[vi, vk]
                moments_0_red[0, t] = moments_0_own[0]
                moments_1_red[0, t] = moments_1_own[0]
                T.tvm_storage_sync("shared")
                if t < 2:
                    moments_0_red[0, t] = moments_0_red[0, t] + moments_0_red[0, t + 2]
                    moments_1_red[0, t] = moments_1_red[0, t] + moments_1_red[0, t + 2]
                T.tvm_storage_sync("shared")
                if t < 1:
                    moments_0_red[0, t] = moments_0_red[0, t] + moments_0_red[0, t + 1]
                    moments_1_red[0, t] = moments_1_red[0, t] + moments_1_red[0, t + 1]
                T.tvm_storage_sync("shared")
                if t == 0:
                    S[b] = moments_0_red[0, 0]
                if t == 0:
                    Q[b] = T.float32(1.0) + moments_1_red[0, 0]
