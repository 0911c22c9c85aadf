# SPDX-License-Identifier: Apache-2.0
# Extents are compared with those that a later parameter gives a name.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def f(var_A: T.handle, var_B: T.handle):
        m = T.int64()
        A = T.match_buffer(var_A, (m + 1,))
        B = T.match_buffer(var_B, (m,))
        for i in range(m):
            with T.sblock("b"):
                v = T.axis.spatial(m, i)
                B[v] = A[v + 1]
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor((5,), "float32"):
        n = T.int64()
        cls = Before
        y = R.call_tir(cls.f, (x,), out_ty=R.Tensor((5,), "float32"))
        return y
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def f(var_A: T.handle, var_B: T.handle):
        m = T.int64()
        A = T.match_buffer(var_A, (m + T.int64(1),))
        B = T.match_buffer(var_B, (m,))
        # with T.sblock("root"):
        for i in range(m):
            with T.sblock("b"):
                v = T.axis.remap("S", [i])
                T.reads(A[v + T.int64(1)])
                T.writes(B[v])
                B[v] = A[v + T.int64(1)]

    @R.function
    def main(x: R.Tensor(("n",), dtype="float32")) -> R.Tensor((5,), dtype="float32"):
        n = T.int64()
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        R.assert_op(R.prim_value(n == 6), n, R.prim_value(T.Add(5, 1)), n, format="line 18 (relax.call_tir): argument 0 of 'f' has extent {} in axis 0, but the program wants {}; axis 0 of 'x' is {}")
        y = R.call_tir(cls.f, (x,), out_ty=R.Tensor((5,), dtype="float32"))
        return y
