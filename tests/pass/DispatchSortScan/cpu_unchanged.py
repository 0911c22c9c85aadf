# SPDX-License-Identifier: Apache-2.0
# Elsewhere the operators' generic programs serve.
# target: llvm
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 9), dtype="float32")):
        with R.dataflow():
            lv = R.cumsum(x, axis=1)
            gv = R.sort(lv, axis=1)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((2, 9), dtype="float32")) -> R.Tensor((2, 9), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2, 9), dtype="float32") = R.cumsum(x, axis=1, dtype="void", exclusive=False)
            gv: R.Tensor((2, 9), dtype="float32") = R.sort(lv, axis=1, descending=False)
            R.output(gv)
        return gv
