# SPDX-License-Identifier: Apache-2.0
# The largest element and its place: every lane keeps its best and the turn in which it came; places within a lane come in
# order and are not compared. The lanes' bests are joined by the body. Where the first of equal ones is not asked for, the order
# would make a difference: such a loop stays serial.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(19),), "float32"), v: T.Buffer((T.int64(1),), "float32"), p: T.Buffer((T.int64(1),), "int64")):
        T.func_attr({"tirx.noalias": True})
        for k in T.serial(T.int64(19), annotations={"tenon.wide": 8}):
            v_p: T.let[T.int64] = T.Select(A[k] > v[T.int64(0)] or A[k] == v[T.int64(0)] and k < p[T.int64(0)], k, p[T.int64(0)])
            v_v: T.let[T.float32] = T.Select(A[k] > v[T.int64(0)] or A[k] == v[T.int64(0)] and k < p[T.int64(0)], A[k], v[T.int64(0)])
            p[T.int64(0)] = v_p
            v[T.int64(0)] = v_v
        for k in T.serial(T.int64(19), annotations={"tenon.wide": 8}):
            v_p: T.let[T.int64] = T.Select(A[k] > v[T.int64(0)], k, p[T.int64(0)])
            v_v: T.let[T.float32] = T.Select(A[k] > v[T.int64(0)], A[k], v[T.int64(0)])
            p[T.int64(0)] = v_p
            v[T.int64(0)] = v_v
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(19),), "float32"), v: T.Buffer((T.int64(1),), "float32"), p: T.Buffer((T.int64(1),), "int64")):
        T.func_attr({"tirx.noalias": True})
        p_turn = T.alloc_buffer((T.int64(16),), "int32", scope="local")
        for v_1 in T.vectorized(T.int64(8)):
            p_turn[v_1] = 0
        for v_2 in T.vectorized(T.int64(8)):
            p_turn[v_2 + T.int64(8)] = 0
        v_acc = T.alloc_buffer((T.int64(16),), scope="local")
        for v_3 in T.vectorized(T.int64(8)):
            v_acc[v_3] = A[v_3]
        for v_4 in T.vectorized(T.int64(8)):
            v_acc[v_4 + T.int64(8)] = A[v_4]
        for k in range(T.int64(1)):
            for v_5 in T.vectorized(T.int64(8)):
                turn: T.let[T.int32] = T.Select(A[k * T.int64(2) * T.int64(8) + v_5] > v_acc[v_5], T.Cast("int32", k * T.int64(2)), p_turn[v_5])
                best: T.let[T.float32] = T.Select(A[k * T.int64(2) * T.int64(8) + v_5] > v_acc[v_5], A[k * T.int64(2) * T.int64(8) + v_5], v_acc[v_5])
                p_turn[v_5] = turn
                v_acc[v_5] = best
            for v_6 in T.vectorized(T.int64(8)):
                turn_1: T.let[T.int32] = T.Select(A[(k * T.int64(2) + T.int64(1)) * T.int64(8) + v_6] > v_acc[v_6 + T.int64(8)], T.Cast("int32", k * T.int64(2) + T.int64(1)), p_turn[v_6 + T.int64(8)])
                best_1: T.let[T.float32] = T.Select(A[(k * T.int64(2) + T.int64(1)) * T.int64(8) + v_6] > v_acc[v_6 + T.int64(8)], A[(k * T.int64(2) + T.int64(1)) * T.int64(8) + v_6], v_acc[v_6 + T.int64(8)])
                p_turn[v_6 + T.int64(8)] = turn_1
                v_acc[v_6 + T.int64(8)] = best_1
        for v_7 in T.vectorized(T.int64(8)):
            turn_2: T.let[T.int32] = T.Select(v_acc[v_7 + T.int64(8)] > v_acc[v_7] or v_acc[v_7 + T.int64(8)] == v_acc[v_7] and p_turn[v_7 + T.int64(8)] < p_turn[v_7], p_turn[v_7 + T.int64(8)], p_turn[v_7])
            best_2: T.let[T.float32] = T.Select(v_acc[v_7 + T.int64(8)] > v_acc[v_7] or v_acc[v_7 + T.int64(8)] == v_acc[v_7] and p_turn[v_7 + T.int64(8)] < p_turn[v_7], v_acc[v_7 + T.int64(8)], v_acc[v_7])
            p_turn[v_7] = turn_2
            v_acc[v_7] = best_2
        places = T.alloc_buffer((T.int64(8),), "int32", scope="local")
        for v_8 in T.vectorized(T.int64(8)):
            places[v_8] = p_turn[v_8] * 8 + T.Cast("int32", v_8)
        bests = T.alloc_buffer((T.int64(8),), scope="local")
        for v_9 in T.vectorized(T.int64(8)):
            bests[v_9] = v_acc[v_9]
        for v_10 in T.vectorized(T.int64(4)):
            turn_3: T.let[T.int32] = T.Select(bests[v_10 + T.int64(4)] > bests[v_10] or bests[v_10 + T.int64(4)] == bests[v_10] and places[v_10 + T.int64(4)] < places[v_10], places[v_10 + T.int64(4)], places[v_10])
            best_3: T.let[T.float32] = T.Select(bests[v_10 + T.int64(4)] > bests[v_10] or bests[v_10 + T.int64(4)] == bests[v_10] and places[v_10 + T.int64(4)] < places[v_10], bests[v_10 + T.int64(4)], bests[v_10])
            places[v_10] = turn_3
            bests[v_10] = best_3
        for v_11 in T.vectorized(T.int64(4)):
            turn_4: T.let[T.int32] = T.Select(bests[v_11 + T.int64(2)] > bests[v_11] or bests[v_11 + T.int64(2)] == bests[v_11] and places[v_11 + T.int64(2)] < places[v_11], places[v_11 + T.int64(2)], places[v_11])
            best_4: T.let[T.float32] = T.Select(bests[v_11 + T.int64(2)] > bests[v_11] or bests[v_11 + T.int64(2)] == bests[v_11] and places[v_11 + T.int64(2)] < places[v_11], bests[v_11 + T.int64(2)], bests[v_11])
            places[v_11] = turn_4
            bests[v_11] = best_4
        for v_12 in T.vectorized(T.int64(4)):
            turn_5: T.let[T.int32] = T.Select(bests[v_12 + T.int64(1)] > bests[v_12] or bests[v_12 + T.int64(1)] == bests[v_12] and places[v_12 + T.int64(1)] < places[v_12], places[v_12 + T.int64(1)], places[v_12])
            best_5: T.let[T.float32] = T.Select(bests[v_12 + T.int64(1)] > bests[v_12] or bests[v_12 + T.int64(1)] == bests[v_12] and places[v_12 + T.int64(1)] < places[v_12], bests[v_12 + T.int64(1)], bests[v_12])
            places[v_12] = turn_5
            bests[v_12] = best_5
        k_1: T.let[T.int64] = T.Cast("int64", places[T.int64(0)])
        v_p: T.let[T.int64] = T.Select(A[k_1] > v[T.int64(0)] or A[k_1] == v[T.int64(0)] and k_1 < p[T.int64(0)], k_1, p[T.int64(0)])
        v_v: T.let[T.float32] = T.Select(A[k_1] > v[T.int64(0)] or A[k_1] == v[T.int64(0)] and k_1 < p[T.int64(0)], A[k_1], v[T.int64(0)])
        p[T.int64(0)] = v_p
        v[T.int64(0)] = v_v
        for k_2 in range(T.int64(3)):
            v_p_1: T.let[T.int64] = T.Select(A[T.int64(16) + k_2] > v[T.int64(0)] or A[T.int64(16) + k_2] == v[T.int64(0)] and T.int64(16) + k_2 < p[T.int64(0)], T.int64(16) + k_2, p[T.int64(0)])
            v_v_1: T.let[T.float32] = T.Select(A[T.int64(16) + k_2] > v[T.int64(0)] or A[T.int64(16) + k_2] == v[T.int64(0)] and T.int64(16) + k_2 < p[T.int64(0)], A[T.int64(16) + k_2], v[T.int64(0)])
            p[T.int64(0)] = v_p_1
            v[T.int64(0)] = v_v_1
        for k_3 in range(T.int64(19)):
            v_p_2: T.let[T.int64] = T.Select(A[k_3] > v[T.int64(0)], k_3, p[T.int64(0)])
            v_v_2: T.let[T.float32] = T.Select(A[k_3] > v[T.int64(0)], A[k_3], v[T.int64(0)])
            p[T.int64(0)] = v_p_2
            v[T.int64(0)] = v_v_2
