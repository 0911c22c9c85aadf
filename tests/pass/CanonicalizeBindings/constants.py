# SPDX-License-Identifier: Apache-2.0
# Constants are used directly.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            c = R.const(2.0, "float32")
            d = c
            gv = R.multiply(x, d)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            c: R.Tensor((), dtype="float32") = R.const(2.0, "float32")
            gv: R.Tensor((4,), dtype="float32") = R.multiply(x, R.const(2.0, "float32"))
            R.output(gv)
        return gv
