# SPDX-License-Identifier: Apache-2.0
# An argument of a tensor program whose extents or dtype are not known gets names for them, which are compared with the
# program's: nothing else would keep the program within its memory.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def f(A: T.Buffer(("m", 4), "float32"), B: T.Buffer((m, 4), "float32")):
        m = T.int64()
        for i, j in T.grid(m, 4):
            with T.sblock("b"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[v, w]
    @R.function
    def main(x: R.Tensor(ndim=2), y: R.Object, z: R.Tensor(("n", 4))) -> R.Tensor((3, 4), "float32"):
        n = T.int64()
        cls = Before
        with R.dataflow():
            a = R.call_tir(cls.f, (x,), out_ty=R.Tensor((3, 4), dtype="float32"))
            b = R.call_tir(cls.f, (y,), out_ty=R.Tensor((3, 4), dtype="float32"))
            c = R.call_tir(cls.f, (z,), out_ty=R.Tensor((3, 4), dtype="float32"))
            d = R.add(a, R.add(b, c))
            R.output(d)
        return d
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def f(var_A: T.handle, var_B: T.handle):
        m = T.int64()
        A = T.match_buffer(var_A, (m, 4))
        B = T.match_buffer(var_B, (m, 4))
        # with T.sblock("root"):
        for i, j in T.grid(m, 4):
            with T.sblock("b"):
                v, w = T.axis.remap("SS", [i, j])
                T.reads(A[v, w])
                T.writes(B[v, w])
                B[v, w] = A[v, w]

    @R.function
    def main(x: R.Tensor(ndim=2), y: R.Any, z: R.Tensor(("n", 4))) -> R.Tensor((3, 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        R.assert_op(R.prim_value(n == 3), R.prim_value(3), n, n, format="line 20 (relax.call_tir): argument 1 of 'f' has extent {} in axis 0, but the program wants {}; axis 0 of 'z' is {}")
        with R.dataflow():
            m = T.int64()
            extent = T.int64()
            x_1 = R.match_cast(x, R.Tensor((m, extent), dtype="float32"))
            R.output(x_1)
        R.assert_op(R.prim_value(extent == 4), extent, R.prim_value(T.int32(4)), format="line 18 (relax.call_tir): argument 0 of 'f' has extent {} in axis 1, but the program wants {}")
        R.assert_op(R.prim_value(m == 3), R.prim_value(3), m, format="line 18 (relax.call_tir): argument 1 of 'f' has extent {} in axis 0, but the program wants {}")
        with R.dataflow():
            a = R.call_tir(cls.f, (x_1,), out_ty=R.Tensor((3, 4), dtype="float32"))
            m_1 = T.int64()
            extent_1 = T.int64()
            y_1 = R.match_cast(y, R.Tensor((m_1, extent_1), dtype="float32"))
            R.output(a, y_1)
        R.assert_op(R.prim_value(extent_1 == 4), extent_1, R.prim_value(T.int32(4)), format="line 19 (relax.call_tir): argument 0 of 'f' has extent {} in axis 1, but the program wants {}")
        R.assert_op(R.prim_value(m_1 == 3), R.prim_value(3), m_1, format="line 19 (relax.call_tir): argument 1 of 'f' has extent {} in axis 0, but the program wants {}")
        with R.dataflow():
            b = R.call_tir(cls.f, (y_1,), out_ty=R.Tensor((3, 4), dtype="float32"))
            z_1 = R.match_cast(z, R.Tensor((n, 4), dtype="float32"))
            c = R.call_tir(cls.f, (z_1,), out_ty=R.Tensor((3, 4), dtype="float32"))
            lv: R.Tensor((3, 4), dtype="float32") = R.add(b, c)
            d: R.Tensor((3, 4), dtype="float32") = R.add(a, lv)
            R.output(d)
        return d
