# SPDX-License-Identifier: Apache-2.0
# Patterns are applied in the order given: what the first takes, the second does not see.
# passes: FuseOpsByPattern{patterns=["a.both := nn.relu(add(x, y))", "b.add := add(x, y)"]}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32"), y: R.Tensor((4, 8), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
        with R.dataflow():
            lv = R.add(x, y)
            lv1 = R.nn.relu(lv)
            gv = R.add(lv1, y)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def fused_relax_add(lv1: R.Tensor((4, 8), dtype="float32"), y: R.Tensor((4, 8), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
        R.func_attr({"Composite": "b.add", "Primitive": True})
        with R.dataflow():
            gv: R.Tensor((4, 8), dtype="float32") = R.add(lv1, y)
            R.output(gv)
        return gv

    @R.function(private=True)
    def fused_relax_add_relax_nn_relu(x: R.Tensor((4, 8), dtype="float32"), y: R.Tensor((4, 8), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
        R.func_attr({"Composite": "a.both", "Primitive": True})
        with R.dataflow():
            lv: R.Tensor((4, 8), dtype="float32") = R.add(x, y)
            lv1: R.Tensor((4, 8), dtype="float32") = R.nn.relu(lv)
            R.output(lv1)
        return lv1

    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32"), y: R.Tensor((4, 8), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
        cls = Expected
        with R.dataflow():
            lv1: R.Tensor((4, 8), dtype="float32") = cls.fused_relax_add_relax_nn_relu(x, y)
            gv: R.Tensor((4, 8), dtype="float32") = cls.fused_relax_add(lv1, y)
            R.output(gv)
        return gv
