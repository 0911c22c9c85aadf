# SPDX-License-Identifier: Apache-2.0
# passes: ToMixedPrecision{fp16_input_names=["x"]}
# A function that the module calls keeps its parameters, exported or not: the calls stay right.
@I.ir_module
class Before:
    @R.function
    def called(x: R.Tensor((2, 4), dtype="float32")) -> R.Tensor((2, 4), dtype="float32"):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y

    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32")):
        y = Before.called(x)
        return y
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def called(x: R.Tensor((2, 4), dtype="float32")) -> R.Tensor((2, 4), dtype="float32"):
        with R.dataflow():
            y: R.Tensor((2, 4), dtype="float32") = R.exp(x)
            R.output(y)
        return y

    @R.function
    def main(x: R.Tensor((2, 4), dtype="float16")) -> R.Tensor((2, 4), dtype="float32"):
        cls = Expected
        x_1: R.Tensor((2, 4), dtype="float32") = R.astype(x, dtype="float32")
        y: R.Tensor((2, 4), dtype="float32") = cls.called(x_1)
        return y
