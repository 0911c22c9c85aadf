# SPDX-License-Identifier: Apache-2.0
# passes: CommonSubexprElim
# Division by what may be 0 stays behind what guards it. In a loop of n * m turns neither n nor m is 0; the shape h is at least 0, so
# h + 1 is not 0 anywhere.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def guarded(A: T.Buffer((T.int64(4096),), "float32"), n: T.int64, m: T.int64, d: T.int64):
        for i in range(n):
            if d > T.int64(0):
                A[m // d + i] = T.float32(0)
                A[m // d + i + T.int64(1)] = A[m // d]
            if d > m:
                A[T.if_then_else(i < d, m % d + i, T.int64(0))] = A[T.if_then_else(i < d, m % d + i, T.int64(7))]

    @T.prim_func(s_tir=True)
    def turns(a: T.handle, n: T.int64, m: T.int64):
        h = T.int64()
        A = T.match_buffer(a, (h,), "float32")
        for i in range(n * m):
            for j in range(h):
                A[i // m * T.int64(8) + i % m + j] = A[i // m + j] + A[n // (h + T.int64(1)) + j]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def guarded(A: T.Buffer((T.int64(4096),), "float32"), n: T.int64, m: T.int64, d: T.int64):
        for i in range(n):
            if d > T.int64(0):
                cse_v1: T.let[T.int64] = m // d
                cse_v2: T.let[T.int64] = cse_v1 + i
                A[cse_v2] = T.float32(0.0)
                A[cse_v2 + T.int64(1)] = A[cse_v1]
            if d > m:
                A[T.if_then_else(i < d, m % d + i, T.int64(0))] = A[T.if_then_else(i < d, m % d + i, T.int64(7))]

    @T.prim_func(s_tir=True)
    def turns(a: T.handle, n: T.int64, m: T.int64):
        h = T.int64()
        A = T.match_buffer(a, (h,))
        cse_v1: T.let[T.int64] = n // (h + T.int64(1))
        for i in range(n * m):
            cse_v2: T.let[T.int64] = i // m
            cse_v3: T.let[T.int64] = cse_v2 * T.int64(8) + i % m
            for j in range(h):
                A[cse_v3 + j] = A[cse_v2 + j] + A[cse_v1 + j]
