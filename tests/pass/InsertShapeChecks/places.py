# SPDX-License-Identifier: Apache-2.0
# Assertions stand where their variables become known: after a match_cast (the dataflow block is divided, and variables
# that are used beyond become ordinary ones), at the begin of the branch that needs them.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), s: R.Shape(ndim=1), w: R.Tensor(("m", 4), "float32"), c: R.Tensor((), "bool")):
        n, m = T.int64(), T.int64()
        with R.dataflow():
            a = R.add(x, x)
            b = R.multiply(a, a)
            k = T.int64()
            t = R.match_cast(s, R.Shape([k]))
            d = R.zeros(R.shape([k, 4]), dtype="float32")
            e = R.concat((b, d), axis=1)
            R.output(e)
        if c:
            y = R.concat((e, e, R.concat((x, w), axis=1)), axis=1)
            z = y
        else:
            z1 = R.concat((e, e, e, e), axis=1)
            z = z1
        return z
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32"), s: R.Shape(ndim=1), w: R.Tensor(("m", 4), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tensor(dtype="float32", ndim=2):
        n = T.int64()
        m = T.int64()
        R.func_attr({"relax.force_pure": True})
        with R.dataflow():
            a: R.Tensor((n, 4), dtype="float32") = R.add(x, x)
            b: R.Tensor((n, 4), dtype="float32") = R.multiply(a, a)
            k = T.int64()
            t = R.match_cast(s, R.Shape([k]))
            R.output(b)
        R.assert_op(R.prim_value(n == k), n, k, n, format="line 15 (relax.concat): tensors 0 and 1 differ along axis 0: {} and {}; axis 0 of 'x' is {}")
        with R.dataflow():
            d: R.Tensor((k, 4), dtype="float32") = R.zeros(R.shape([k, 4]), dtype="float32")
            e: R.Tensor((n, 8), dtype="float32") = R.concat((b, d), axis=1)
            R.output(e)
        if c:
            R.assert_op(R.prim_value(k == m), n, m, n, m, format="line 18 (relax.concat): tensors 0 and 1 differ along axis 0: {} and {}; axis 0 of 'x' is {}, axis 0 of 'w' is {}")
            gv: R.Tensor((n, 8), dtype="float32") = R.concat((x, w), axis=1)
            y: R.Tensor((n, 24), dtype="float32") = R.concat((e, e, gv), axis=1)
            z: R.Tensor(dtype="float32", ndim=2) = y
        else:
            z1: R.Tensor((n, 32), dtype="float32") = R.concat((e, e, e, e), axis=1)
            z: R.Tensor(dtype="float32", ndim=2) = z1
        return z
