# SPDX-License-Identifier: Apache-2.0
# A symbolic extent with a promised upper bound counts as at most that; without, it may be anything.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def bounded(a: T.handle, B: T.Buffer((T.int64(8589934592),), "float32")):
        T.func_attr({"tir_var_upper_bound": {"n": 4096}})
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        for i in range(n):
            B[i * T.int64(64)] = A[i]

    @T.prim_func(s_tir=True)
    def too_large(a: T.handle, B: T.Buffer((T.int64(8589934592),), "float32")):
        T.func_attr({"tir_var_upper_bound": {"n": 1099511627776}})
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        for i in range(n):
            B[i * T.int64(64)] = A[i]

    @T.prim_func(s_tir=True)
    def open(a: T.handle, B: T.Buffer((T.int64(8589934592),), "float32")):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        for i in range(n):
            if i < T.int64(1000):
                B[i * T.int64(64)] = A[i]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def bounded(a: T.handle, B: T.Buffer((T.int64(8589934592),), "float32")):
        T.func_attr({"tir_var_upper_bound": {"n": 4096}})
        n = T.int64()
        A = T.match_buffer(a, (n,))
        for i in range(T.Cast("int32", n)):
            B[i * 64] = A[i]

    @T.prim_func(s_tir=True)
    def open(a: T.handle, B: T.Buffer((T.int64(8589934592),), "float32")):
        n = T.int64()
        A = T.match_buffer(a, (n,))
        for i in range(n):
            if i < T.int64(1000):
                B[T.Cast("int32", i) * 64] = A[i]

    @T.prim_func(s_tir=True)
    def too_large(a: T.handle, B: T.Buffer((T.int64(8589934592),), "float32")):
        T.func_attr({"tir_var_upper_bound": {"n": 1099511627776}})
        n = T.int64()
        A = T.match_buffer(a, (n,))
        for i in range(n):
            B[i * T.int64(64)] = A[i]
