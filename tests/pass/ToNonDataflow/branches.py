# SPDX-License-Identifier: Apache-2.0
# Blocks within the branches of an If become ordinary ones too.
@I.ir_module
class Before:
    @R.function
    def main(c: R.Tensor((), dtype="bool"), x: R.Tensor((4,), dtype="float32")):
        if c:
            with R.dataflow():
                a = R.exp(x)
                y1 = R.add(a, x)
                R.output(y1)
            y = y1
        else:
            with R.dataflow():
                b = R.log(x)
                y2 = R.negative(b)
                R.output(y2)
            y = y2
        return y
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(c: R.Tensor((), dtype="bool"), x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        if c:
            a: R.Tensor((4,), dtype="float32") = R.exp(x)
            y1: R.Tensor((4,), dtype="float32") = R.add(a, x)
            y: R.Tensor((4,), dtype="float32") = y1
        else:
            b: R.Tensor((4,), dtype="float32") = R.log(x)
            y2: R.Tensor((4,), dtype="float32") = R.negative(b)
            y: R.Tensor((4,), dtype="float32") = y2
        return y
