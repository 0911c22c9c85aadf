# SPDX-License-Identifier: Apache-2.0
# A tuple from outside that a group uses as a whole is one parameter, of which the group takes the field that it uses as well.
# passes: FuseOpsByPattern{patterns=["a.mix := add(*[0], concat(*))"]}
@I.ir_module
class Before:
    @R.function
    def main(t: R.Tuple(R.Tensor((1, 4), "float32"), R.Tensor((1, 4), "float32"))) -> R.Tensor((2, 4), "float32"):
        with R.dataflow():
            lv = t[0]
            lv1 = R.concat(t, axis=0)
            gv = R.add(lv, lv1)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def fused_relax_concat_relax_add(t: R.Tuple(R.Tensor((1, 4), dtype="float32"), R.Tensor((1, 4), dtype="float32"))) -> R.Tensor((2, 4), dtype="float32"):
        R.func_attr({"Composite": "a.mix", "Primitive": True})
        with R.dataflow():
            lv: R.Tensor((1, 4), dtype="float32") = t[0]
            lv1: R.Tensor((2, 4), dtype="float32") = R.concat(t, axis=0)
            gv: R.Tensor((2, 4), dtype="float32") = R.add(lv, lv1)
            R.output(gv)
        return gv

    @R.function
    def main(t: R.Tuple(R.Tensor((1, 4), dtype="float32"), R.Tensor((1, 4), dtype="float32"))) -> R.Tensor((2, 4), dtype="float32"):
        cls = Expected
        with R.dataflow():
            gv: R.Tensor((2, 4), dtype="float32") = cls.fused_relax_concat_relax_add(t)
            R.output(gv)
        return gv
