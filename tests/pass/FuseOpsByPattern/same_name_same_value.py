# SPDX-License-Identifier: Apache-2.0
# A name used twice asks for the same value twice.
# passes: FuseOpsByPattern{patterns=["a.square := multiply(x, x)"]}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            lv = R.multiply(x, x)
            gv = R.multiply(lv, y)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def fused_relax_multiply(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Composite": "a.square", "Primitive": True})
        with R.dataflow():
            lv: R.Tensor((4,), dtype="float32") = R.multiply(x, x)
            R.output(lv)
        return lv

    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            lv: R.Tensor((4,), dtype="float32") = cls.fused_relax_multiply(x)
            gv: R.Tensor((4,), dtype="float32") = R.multiply(lv, y)
            R.output(gv)
        return gv
