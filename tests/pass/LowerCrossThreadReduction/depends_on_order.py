# SPDX-License-Identifier: Apache-2.0
# Of equal values the one that comes later: parts joined in another order would give another place.
# error: reduces over threads by something that they cannot join
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((8, 100), "float32"), V: T.Buffer((8,), "float32"), P: T.Buffer((8,), "int32")):
        for b in T.thread_binding(8, thread="blockIdx.x"):
            for k in range(25):
                for t in T.thread_binding(4, thread="threadIdx.x"):
                    with T.sblock("best"):
                        vi = T.axis.spatial(8, b)
                        vk = T.axis.reduce(100, k * 4 + t)
                        with T.init():
                            V[vi] = T.float32("-inf")
                            P[vi] = -1
                        v: T.let[T.float32] = T.Select(A[vi, vk] >= V[vi], A[vi, vk], V[vi])
                        p: T.let[T.int32] = T.Select(A[vi, vk] >= V[vi], vk, P[vi])
                        V[vi] = v
                        P[vi] = p
