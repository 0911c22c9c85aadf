# SPDX-License-Identifier: Apache-2.0
# A few elements do not become a constant of a thousand million, unless all are equal.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.nn.pad(R.const([1.0, 2.0], "float32"), (0, 1000000000))
            gv = R.concat((x, a))
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((1000000006,), dtype="float32"):
        with R.dataflow():
            a: R.Tensor((1000000002,), dtype="float32") = R.nn.pad(R.const([1.0, 2.0], "float32"), pad_width=[0, 1000000000], pad_mode="constant", pad_value=0.0)
            gv: R.Tensor((1000000006,), dtype="float32") = R.concat((x, a), axis=0)
            R.output(gv)
        return gv
