# SPDX-License-Identifier: Apache-2.0
# What operators assume of the parameters' extents is asserted before anything runs, once each; what follows from assertions before
# is left out, and so is what the program asserts itself.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", "k"), "float32"), w: R.Tensor(("m", 4), "float32"), z: R.Tensor(("p", 4), "float32")):
        n, k, m, p = T.int64(), T.int64(), T.int64(), T.int64()
        with R.dataflow():
            y = R.matmul(x, w)
            c = R.concat((y, z), axis=1)
            again = R.matmul(x, w)
            follows = R.matmul(R.permute_dims(x), z)
            r = R.reshape(z, R.shape([n, 4]))
            gv = R.add(again, y)
            R.output(gv)
        return gv

    @R.function(pure=False)
    def asserted(x: R.Tensor(("n", "k"), "float32"), w: R.Tensor(("m", 4), "float32")):
        n, k, m = T.int64(), T.int64(), T.int64()
        R.assert_op(m == k, format="{x}")
        y = R.matmul(x, w)
        return y
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(pure=False)
    def asserted(x: R.Tensor(("n", "k"), dtype="float32"), w: R.Tensor(("m", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        k = T.int64()
        m = T.int64()
        R.assert_op(R.prim_value(m == k), format="{x}")
        y: R.Tensor((n, 4), dtype="float32") = R.matmul(x, w, out_dtype="void")
        return y

    @R.function
    def main(x: R.Tensor(("n", "k"), dtype="float32"), w: R.Tensor(("m", 4), dtype="float32"), z: R.Tensor(("p", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        k = T.int64()
        m = T.int64()
        p = T.int64()
        R.func_attr({"relax.force_pure": True})
        R.assert_op(R.prim_value(k == m), k, m, k, m, format="line 10 (relax.matmul): the summed extents differ: {} of the first operand, {} of the second; axis 1 of 'x' is {}, axis 0 of 'w' is {}")
        R.assert_op(R.prim_value(n == p), n, p, n, p, format="line 11 (relax.concat): tensors 0 and 1 differ along axis 0: {} and {}; axis 0 of 'x' is {}, axis 0 of 'z' is {}")
        with R.dataflow():
            y: R.Tensor((n, 4), dtype="float32") = R.matmul(x, w, out_dtype="void")
            c: R.Tensor((n, 8), dtype="float32") = R.concat((y, z), axis=1)
            again: R.Tensor((n, 4), dtype="float32") = R.matmul(x, w, out_dtype="void")
            lv: R.Tensor((k, n), dtype="float32") = R.permute_dims(x, axes=None)
            follows: R.Tensor((k, 4), dtype="float32") = R.matmul(lv, z, out_dtype="void")
            r: R.Tensor((n, 4), dtype="float32") = R.reshape(z, R.shape([n, 4]))
            gv: R.Tensor((n, 4), dtype="float32") = R.add(again, y)
            R.output(gv)
        return gv
