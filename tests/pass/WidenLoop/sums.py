# SPDX-License-Identifier: Apache-2.0
# A sum along memory gets several vectors of sums; the loop before it, of which each turn makes what one turn of the sum
# reads, becomes part of it; the last elements are a vector moved back, of which the sum takes only what is new.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(100),), "float32"), E: T.Buffer((T.int64(100),), "float32"), S: T.Buffer((T.int64(1),), "float32")):
        T.func_attr({"tirx.noalias": True})
        for k in T.serial(T.int64(100), annotations={"tenon.wide": 8}):
            E[k] = A[k] * T.float32(2)
        S[T.int64(0)] = T.float32(0)
        for k in T.serial(T.int64(100), annotations={"tenon.wide": 8}):
            S[T.int64(0)] = S[T.int64(0)] + E[k]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(100),), "float32"), E: T.Buffer((T.int64(100),), "float32"), S: T.Buffer((T.int64(1),), "float32")):
        T.func_attr({"tirx.noalias": True})
        S[T.int64(0)] = T.float32(0.0)
        S_acc = T.alloc_buffer((T.int64(32),), scope="local")
        for v in T.vectorized(T.int64(8)):
            S_acc[v] = T.float32(0.0)
        for v_1 in T.vectorized(T.int64(8)):
            S_acc[v_1 + T.int64(8)] = T.float32(0.0)
        for v_2 in T.vectorized(T.int64(8)):
            S_acc[v_2 + T.int64(16)] = T.float32(0.0)
        for v_3 in T.vectorized(T.int64(8)):
            S_acc[v_3 + T.int64(24)] = T.float32(0.0)
        for k in range(T.int64(3)):
            for v_4 in T.vectorized(T.int64(8)):
                E[k * T.int64(32) + v_4] = A[k * T.int64(32) + v_4] * T.float32(2.0)
                S_acc[v_4] = S_acc[v_4] + E[k * T.int64(32) + v_4]
            for v_5 in T.vectorized(T.int64(8)):
                E[k * T.int64(32) + T.int64(8) + v_5] = A[k * T.int64(32) + T.int64(8) + v_5] * T.float32(2.0)
                S_acc[v_5 + T.int64(8)] = S_acc[v_5 + T.int64(8)] + E[k * T.int64(32) + T.int64(8) + v_5]
            for v_6 in T.vectorized(T.int64(8)):
                E[k * T.int64(32) + T.int64(16) + v_6] = A[k * T.int64(32) + T.int64(16) + v_6] * T.float32(2.0)
                S_acc[v_6 + T.int64(16)] = S_acc[v_6 + T.int64(16)] + E[k * T.int64(32) + T.int64(16) + v_6]
            for v_7 in T.vectorized(T.int64(8)):
                E[k * T.int64(32) + T.int64(24) + v_7] = A[k * T.int64(32) + T.int64(24) + v_7] * T.float32(2.0)
                S_acc[v_7 + T.int64(24)] = S_acc[v_7 + T.int64(24)] + E[k * T.int64(32) + T.int64(24) + v_7]
        for v_8 in T.vectorized(8):
            E[T.int64(92) + T.Cast("int64", v_8)] = A[T.int64(92) + T.Cast("int64", v_8)] * T.float32(2.0)
            S_acc[v_8] = S_acc[v_8] + T.Select(v_8 >= 4, E[T.int64(92) + T.Cast("int64", v_8)], T.float32(0.0))
        S_row = T.alloc_buffer((T.int64(8),), scope="local")
        for v_9 in T.vectorized(T.int64(8)):
            S_row[v_9] = S_acc[v_9] + S_acc[v_9 + T.int64(8)] + S_acc[v_9 + T.int64(16)] + S_acc[v_9 + T.int64(24)]
        for v_10 in T.vectorized(T.int64(4)):
            S_row[v_10] = S_row[v_10] + S_row[v_10 + T.int64(4)]
        S[T.int64(0)] = S[T.int64(0)] + (S_row[T.int64(0)] + S_row[T.int64(1)] + (S_row[T.int64(2)] + S_row[T.int64(3)]))
