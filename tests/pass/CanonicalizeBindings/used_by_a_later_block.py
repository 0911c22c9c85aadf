# SPDX-License-Identifier: Apache-2.0
# What another dataflow block uses stays an output.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.negative(a)
            R.output(a, b)
        c = R.tanh(b)
        with R.dataflow():
            d = R.add(a, c)
            e = R.exp(d)
            R.output(d, e)
        return e
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        with R.dataflow():
            a: R.Tensor((2,), dtype="float32") = R.exp(x)
            b: R.Tensor((2,), dtype="float32") = R.negative(a)
            R.output(a, b)
        c: R.Tensor((2,), dtype="float32") = R.tanh(b)
        with R.dataflow():
            d: R.Tensor((2,), dtype="float32") = R.add(a, c)
            e: R.Tensor((2,), dtype="float32") = R.exp(d)
            R.output(e)
        return e
