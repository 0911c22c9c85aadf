# SPDX-License-Identifier: Apache-2.0
# Neighbouring assertions over scalars become a host function; others a call of the runtime.
@I.ir_module
class Before:
    @R.function(pure=False)
    def main(x: R.Tensor(("n", "m"), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tensor(("n", "m"), dtype="float32"):
        n, m = T.int64(), T.int64()
        R.assert_op(n == m, n, m, format="{} rows, {} columns, {{}}")
        R.assert_op(n > 0, format="no rows")
        R.assert_op(c, n, format="not for {} rows")
        R.assert_op(m > 2, format="few columns")
        return x
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def check_shapes(n: T.int64, m: T.int64):
        T.func_attr({"tirx.is_host_func": True})
        assert n == m, ("RuntimeError", [n, " rows, ", m, " columns, {}"])
        assert n > T.int64(0), ("RuntimeError", ["no rows"])

    @T.prim_func(private=True, s_tir=True)
    def check_shapes1(m: T.int64):
        T.func_attr({"tirx.is_host_func": True})
        assert m > T.int64(2), ("RuntimeError", ["few columns"])

    @R.function(pure=False)
    def main(x: R.Tensor(("n", "m"), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tensor(("n", "m"), dtype="float32"):
        n = T.int64()
        m = T.int64()
        cls = Expected
        _: R.Tuple = cls.check_shapes(n, m)
        __1: R.Tuple = R.call_packed("relax.run.assert_op", c, R.str("not for {} rows"), n, ty_args=(R.Tuple,))
        __2: R.Tuple = cls.check_shapes1(m)
        return x
