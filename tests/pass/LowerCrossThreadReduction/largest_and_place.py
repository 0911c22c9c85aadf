# SPDX-License-Identifier: Apache-2.0
# The largest value and its place, of equal ones the first: both sides are read before the better one is written.
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
                            P[vi] = 2147483647
                        v: T.let[T.float32] = T.Select(A[vi, vk] > V[vi] or A[vi, vk] == V[vi] and vk < P[vi], A[vi, vk], V[vi])
                        p: T.let[T.int32] = T.Select(A[vi, vk] > V[vi] or A[vi, vk] == V[vi] and vk < P[vi], vk, P[vi])
                        V[vi] = v
                        P[vi] = p
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8, 100), "float32"), V: T.Buffer((8,), "float32"), P: T.Buffer((8,), "int32")):
        # with T.sblock("root"):
        for b in T.thread_binding(8, thread="blockIdx.x"):
            for t in T.thread_binding(4, thread="threadIdx.x"):
                best_0_own = T.alloc_buffer((1,), scope="local")
                best_1_own = T.alloc_buffer((1,), "int32", scope="local")
                best_0_red = T.alloc_buffer((1, 4), scope="shared")
                best_1_red = T.alloc_buffer((1, 4), "int32", scope="shared")
                best_0_own[0] = T.float32("-inf")
                best_1_own[0] = 2147483647
                for k in range(25):
                    for t_1 in T.thread_binding(4, thread="threadIdx.x"):
                        with T.sblock("best"):
                            vi = T.axis.remap("S", [b])
                            vk = T.axis.reduce(100, k * 4 + t_1)
                            T.reads(best_0_own[0], best_1_own[0], A[vi, vk])
                            T.writes(best_0_own[0], best_1_own[0])
                            best_x0: T.let[T.float32] = best_0_own[0]
                            best_x1: T.let[T.int32] = best_1_own[0]
                            best_y0: T.let[T.float32] = A[vi, vk]
                            best_y1: T.let[T.int32] = vk
                            best_0_own[0] = T.Select(best_y0 > best_x0 or best_y0 == best_x0 and best_y1 < best_x1, best_y0, best_x0)
                            best_1_own[0] = T.Select(best_y0 > best_x0 or best_y0 == best_x0 and best_y1 < best_x1, best_y1, best_x1)
                best_0_red[0, t] = best_0_own[0]
                best_1_red[0, t] = best_1_own[0]
                T.tvm_storage_sync("shared")
                if t < 2:
                    best_x0_1: T.let[T.float32] = best_0_red[0, t]
                    best_x1_1: T.let[T.int32] = best_1_red[0, t]
                    best_y0_1: T.let[T.float32] = best_0_red[0, t + 2]
                    best_y1_1: T.let[T.int32] = best_1_red[0, t + 2]
                    best_0_red[0, t] = T.Select(best_y0_1 > best_x0_1 or best_y0_1 == best_x0_1 and best_y1_1 < best_x1_1, best_y0_1, best_x0_1)
                    best_1_red[0, t] = T.Select(best_y0_1 > best_x0_1 or best_y0_1 == best_x0_1 and best_y1_1 < best_x1_1, best_y1_1, best_x1_1)
                T.tvm_storage_sync("shared")
                if t < 1:
                    best_x0_2: T.let[T.float32] = best_0_red[0, t]
                    best_x1_2: T.let[T.int32] = best_1_red[0, t]
                    best_y0_2: T.let[T.float32] = best_0_red[0, t + 1]
                    best_y1_2: T.let[T.int32] = best_1_red[0, t + 1]
                    best_0_red[0, t] = T.Select(best_y0_2 > best_x0_2 or best_y0_2 == best_x0_2 and best_y1_2 < best_x1_2, best_y0_2, best_x0_2)
                    best_1_red[0, t] = T.Select(best_y0_2 > best_x0_2 or best_y0_2 == best_x0_2 and best_y1_2 < best_x1_2, best_y1_2, best_x1_2)
                T.tvm_storage_sync("shared")
                if t == 0:
                    V[b] = best_0_red[0, 0]
                if t == 0:
                    P[b] = best_1_red[0, 0]
