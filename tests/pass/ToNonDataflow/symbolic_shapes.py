# SPDX-License-Identifier: Apache-2.0
# Types of variables with symbolic extents stay.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", "m"), dtype="float32")):
        n, m = T.int64(), T.int64()
        with R.dataflow():
            a: R.Tensor((m, n), dtype="float32") = R.permute_dims(x)
            s: R.Shape([m * n]) = R.shape([m * n])
            b: R.Tensor((m * n,), dtype="float32") = R.reshape(a, s)
            R.output(b)
        return b
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(("n", "m"), dtype="float32")) -> R.Tensor(("m * n",), dtype="float32"):
        n = T.int64()
        m = T.int64()
        a: R.Tensor((m, n), dtype="float32") = R.permute_dims(x, axes=None)
        s: R.Shape([m * n]) = R.shape([m * n])
        b: R.Tensor((m * n,), dtype="float32") = R.reshape(a, s)
        return b
