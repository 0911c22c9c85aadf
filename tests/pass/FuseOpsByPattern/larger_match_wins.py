# SPDX-License-Identifier: Apache-2.0
# A match that contains an earlier one of the same pattern takes it over.
# passes: FuseOpsByPattern{patterns=["a.adds := add(add(x, y), z) | add(x2, y2)"]}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32"), z: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            lv = R.add(x, y)
            gv = R.add(lv, z)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def fused_relax_add_relax_add(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32"), z: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Composite": "a.adds", "Primitive": True})
        with R.dataflow():
            lv: R.Tensor((4,), dtype="float32") = R.add(x, y)
            gv: R.Tensor((4,), dtype="float32") = R.add(lv, z)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32"), z: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            gv: R.Tensor((4,), dtype="float32") = cls.fused_relax_add_relax_add(x, y, z)
            R.output(gv)
        return gv
