# SPDX-License-Identifier: Apache-2.0
# Empty blocks go, neighbours of one kind become one, a result type is what is known of the body.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32"), cond: R.Tensor((), "bool")) -> R.Tensor(ndim=1, dtype="float32"):
        with R.dataflow():
            a = R.exp(x)
            R.output(a)
        with R.dataflow():
            b = R.log(a)
            R.output(b)
        c = R.add(a, b)
        with R.dataflow():
            R.output()
        d = R.add(c, c)
        return d
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), cond: R.Tensor((), dtype="bool")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            a: R.Tensor((4,), dtype="float32") = R.exp(x)
            b: R.Tensor((4,), dtype="float32") = R.log(a)
            R.output(a, b)
        c: R.Tensor((4,), dtype="float32") = R.add(a, b)
        d: R.Tensor((4,), dtype="float32") = R.add(c, c)
        return d
