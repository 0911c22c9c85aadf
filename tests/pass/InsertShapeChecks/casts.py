# SPDX-License-Identifier: Apache-2.0
# An extent of a match_cast that is computed from a variable which the same match_cast defines is checked before it, with what
# the variable will be.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("a", "b"), "float32"), w: R.Tensor((16, 17), "float32"), s: R.Shape(ndim=2)):
        a, b = T.int64(), T.int64()
        n, k, m = T.int64(), T.int64(), T.int64()
        y = R.match_cast(x, R.Tensor((n + 1, n), "float32"))
        t = R.match_cast(s, R.Shape([k * n, k]))
        v = R.match_cast(w, R.Tensor((m, m + 1), "float32"))
        z = R.zeros(R.shape([k, n]), dtype="float32")
        return (R.exp(y), v)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(("a", "b"), dtype="float32"), w: R.Tensor((16, 17), dtype="float32"), s: R.Shape(ndim=2)) -> R.Tuple(R.Tensor(dtype="float32", ndim=2), R.Tensor(dtype="float32", ndim=2)):
        a = T.int64()
        b = T.int64()
        R.func_attr({"relax.force_pure": True})
        R.assert_op(R.prim_value(a == b + 1), a, R.prim_value(b + 1), a, b, format="line 10 (match_cast): extent 0 is {}, expected {}; axis 0 of 'x' is {}, axis 1 of 'x' is {}")
        n = T.int64()
        y = R.match_cast(x, R.Tensor((n + 1, n), dtype="float32"))
        k = T.int64()
        t = R.match_cast(s, R.Shape([k * n, k]))
        m = T.int64()
        v = R.match_cast(w, R.Tensor((m, m + 1), dtype="float32"))
        z: R.Tensor((k, n), dtype="float32") = R.zeros(R.shape([k, n]), dtype="float32")
        gv: R.Tensor((n + 1, n), dtype="float32") = R.exp(y)
        return (gv, v)
