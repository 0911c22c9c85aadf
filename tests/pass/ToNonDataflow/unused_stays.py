# SPDX-License-Identifier: Apache-2.0
# A binding that nobody uses stays: it is not for this pass to remove it.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")):
        with R.dataflow():
            a = R.exp(x)
            unused = R.log(a)
            b = R.add(a, x)
            R.output(b)
        return b
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        a: R.Tensor((4,), dtype="float32") = R.exp(x)
        unused: R.Tensor((4,), dtype="float32") = R.log(a)
        b: R.Tensor((4,), dtype="float32") = R.add(a, x)
        return b
