# SPDX-License-Identifier: Apache-2.0
# Attributes, result type and privacy of a function stay.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), w: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"num_input": 1, "relax.force_pure": True})
        with R.dataflow():
            a = R.add(x, w)
            b = R.exp(a)
            R.output(b)
        return b

    @R.function(private=True)
    def helper(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            a = R.exp(x)
            R.output(a)
        return a
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def helper(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        a: R.Tensor((4,), dtype="float32") = R.exp(x)
        return a

    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), w: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"num_input": 1, "relax.force_pure": True})
        a: R.Tensor((4,), dtype="float32") = R.add(x, w)
        b: R.Tensor((4,), dtype="float32") = R.exp(a)
        return b
