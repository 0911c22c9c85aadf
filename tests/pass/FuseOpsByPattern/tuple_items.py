# SPDX-License-Identifier: Apache-2.0
# Items of a tuple that a call gives.
# passes: FuseOpsByPattern{patterns=["a.halves := add(s:split(x, ...)[0], s2:*[1])"]}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32")) -> R.Tensor((4, 4), dtype="float32"):
        with R.dataflow():
            lv = R.split(x, indices_or_sections=2, axis=1)
            lv1 = lv[0]
            lv2 = lv[1]
            gv = R.add(lv1, lv2)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def fused_relax_split_relax_add(x: R.Tensor((4, 8), dtype="float32")) -> R.Tensor((4, 4), dtype="float32"):
        R.func_attr({"Composite": "a.halves", "Primitive": True})
        with R.dataflow():
            lv: R.Tuple(R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32")) = R.split(x, indices_or_sections=2, axis=1)
            lv1: R.Tensor((4, 4), dtype="float32") = lv[0]
            lv2: R.Tensor((4, 4), dtype="float32") = lv[1]
            gv: R.Tensor((4, 4), dtype="float32") = R.add(lv1, lv2)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32")) -> R.Tensor((4, 4), dtype="float32"):
        cls = Expected
        with R.dataflow():
            gv: R.Tensor((4, 4), dtype="float32") = cls.fused_relax_split_relax_add(x)
            R.output(gv)
        return gv
