# SPDX-License-Identifier: Apache-2.0
# An output that nobody uses behind its block is none; a name for a value of the block goes.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            lv = R.exp(x)
            alias = lv
            gv = R.add(alias, lv)
            R.output(alias, gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2,), dtype="float32") = R.exp(x)
            gv: R.Tensor((2,), dtype="float32") = R.add(lv, lv)
            R.output(gv)
        return gv
