# SPDX-License-Identifier: Apache-2.0
# A loop that a team shares stays one, over vectors; its last elements and short loops are left to one thread.
@I.ir_module
class Before:
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for k in T.parallel(n, annotations={"tenon.wide": 4}):
            B[k] = A[k] + T.float32(1)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        A = T.match_buffer(a, (n,))
        B = T.match_buffer(b, (n,))
        if n >= T.int64(4):
            for k in T.parallel(n // T.int64(4)):
                for v in T.vectorized(T.int64(4)):
                    B[k * T.int64(4) + v] = A[k * T.int64(4) + v] + T.float32(1.0)
            if n % T.int64(4) > T.int64(0):
                for v_1 in T.vectorized(4):
                    B[n - T.int64(4) + T.Cast("int64", v_1)] = A[n - T.int64(4) + T.Cast("int64", v_1)] + T.float32(1.0)
        else:
            for k_1 in range(n):
                B[k_1] = A[k_1] + T.float32(1.0)
