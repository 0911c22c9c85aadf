# SPDX-License-Identifier: Apache-2.0
# The largest element of every column and its row: each lane of a vector of columns keeps its best and the row in which that
# came; results join at the end, and 11 columns take a vector that is moved back. A loop over rows around columns that choose
# nothing, or that are none, has the wide form of the inner loop.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(209),), "float32"), v: T.Buffer((T.int64(11),), "float32"), p: T.Buffer((T.int64(11),), "int64"), B: T.Buffer((T.int64(16),), "float32")):
        T.func_attr({"tirx.noalias": True})
        for k in T.serial(T.int64(19), annotations={"tenon.wide": 8}):
            for c in range(T.int64(11)):
                v_p: T.let[T.int64] = T.Select(A[k * T.int64(11) + c] > v[c] or A[k * T.int64(11) + c] == v[c] and k < p[c], k, p[c])
                v_v: T.let[T.float32] = T.Select(A[k * T.int64(11) + c] > v[c] or A[k * T.int64(11) + c] == v[c] and k < p[c], A[k * T.int64(11) + c], v[c])
                p[c] = v_p
                v[c] = v_v
        for k in T.serial(T.int64(2), annotations={"tenon.wide": 2}):
            for c in range(T.int64(8)):
                B[k * T.int64(8) + c] = B[k * T.int64(8) + c] * T.float32(2)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(209),), "float32"), v: T.Buffer((T.int64(11),), "float32"), p: T.Buffer((T.int64(11),), "int64"), B: T.Buffer((T.int64(16),), "float32")):
        T.func_attr({"tirx.noalias": True})
        p_turn = T.alloc_buffer((T.int64(11),), "int32", scope="local")
        v_acc = T.alloc_buffer((T.int64(11),), scope="local")
        for c in range(T.int64(2)):
            for v_1 in T.vectorized(T.int64(8)):
                p_turn[T.min(c * T.int64(8), T.int64(3)) + v_1] = 0
                v_acc[T.min(c * T.int64(8), T.int64(3)) + v_1] = A[T.Mul(T.int64(0), T.int64(11)) + (T.min(c * T.int64(8), T.int64(3)) + v_1)]
        for k, c_1 in T.grid(T.int64(19), T.int64(2)):
            for v_2 in T.vectorized(T.int64(8)):
                turn: T.let[T.int32] = T.Select(A[k * T.int64(11) + (T.min(c_1 * T.int64(8), T.int64(3)) + v_2)] > v_acc[T.min(c_1 * T.int64(8), T.int64(3)) + v_2], T.Cast("int32", k), p_turn[T.min(c_1 * T.int64(8), T.int64(3)) + v_2])
                best: T.let[T.float32] = T.Select(A[k * T.int64(11) + (T.min(c_1 * T.int64(8), T.int64(3)) + v_2)] > v_acc[T.min(c_1 * T.int64(8), T.int64(3)) + v_2], A[k * T.int64(11) + (T.min(c_1 * T.int64(8), T.int64(3)) + v_2)], v_acc[T.min(c_1 * T.int64(8), T.int64(3)) + v_2])
                p_turn[T.min(c_1 * T.int64(8), T.int64(3)) + v_2] = turn
                v_acc[T.min(c_1 * T.int64(8), T.int64(3)) + v_2] = best
        for c_2 in range(T.int64(2)):
            for v_3 in T.vectorized(T.int64(8)):
                joined: T.let[T.int64] = T.Select(v_acc[T.min(c_2 * T.int64(8), T.int64(3)) + v_3] > v[T.min(c_2 * T.int64(8), T.int64(3)) + v_3] or v_acc[T.min(c_2 * T.int64(8), T.int64(3)) + v_3] == v[T.min(c_2 * T.int64(8), T.int64(3)) + v_3] and T.Cast("int64", p_turn[T.min(c_2 * T.int64(8), T.int64(3)) + v_3]) < p[T.min(c_2 * T.int64(8), T.int64(3)) + v_3], T.Cast("int64", p_turn[T.min(c_2 * T.int64(8), T.int64(3)) + v_3]), p[T.min(c_2 * T.int64(8), T.int64(3)) + v_3])
                joined_1: T.let[T.float32] = T.Select(v_acc[T.min(c_2 * T.int64(8), T.int64(3)) + v_3] > v[T.min(c_2 * T.int64(8), T.int64(3)) + v_3] or v_acc[T.min(c_2 * T.int64(8), T.int64(3)) + v_3] == v[T.min(c_2 * T.int64(8), T.int64(3)) + v_3] and T.Cast("int64", p_turn[T.min(c_2 * T.int64(8), T.int64(3)) + v_3]) < p[T.min(c_2 * T.int64(8), T.int64(3)) + v_3], v_acc[T.min(c_2 * T.int64(8), T.int64(3)) + v_3], v[T.min(c_2 * T.int64(8), T.int64(3)) + v_3])
                p[T.min(c_2 * T.int64(8), T.int64(3)) + v_3] = joined
                v[T.min(c_2 * T.int64(8), T.int64(3)) + v_3] = joined_1
        for k_1, c_3 in T.grid(T.int64(2), T.int64(4)):
            for v_4 in T.vectorized(T.int64(2)):
                B[k_1 * T.int64(8) + (c_3 * T.int64(2) + v_4)] = B[k_1 * T.int64(8) + (c_3 * T.int64(2) + v_4)] * T.float32(2.0)
