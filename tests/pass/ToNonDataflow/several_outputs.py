# SPDX-License-Identifier: Apache-2.0
# Several outputs, in another order than they are bound.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.add(a, x)
            c = R.negative(b)
            d = R.log(c)
            R.output(d, b)
        return (d, b)
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")):
        a: R.Tensor((4,), dtype="float32") = R.exp(x)
        b: R.Tensor((4,), dtype="float32") = R.add(a, x)
        c: R.Tensor((4,), dtype="float32") = R.negative(b)
        d: R.Tensor((4,), dtype="float32") = R.log(c)
        return (d, b)
