# SPDX-License-Identifier: Apache-2.0
# An inner value that others use is a further result.
# passes: FuseOpsByPattern{patterns=["a.f := add(nn.relu(x), y)"]}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            lv = R.nn.relu(x)
            lv1 = R.add(lv, y)
            gv = R.multiply(lv, lv1)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def fused_relax_nn_relu_relax_add(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")):
        R.func_attr({"Composite": "a.f", "Primitive": True})
        with R.dataflow():
            lv: R.Tensor((4,), dtype="float32") = R.nn.relu(x)
            lv1: R.Tensor((4,), dtype="float32") = R.add(lv, y)
            R.output(lv, lv1)
        return (lv, lv1)

    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            lv: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")) = cls.fused_relax_nn_relu_relax_add(x, y)
            lv_1: R.Tensor((4,), dtype="float32") = lv[0]
            lv1: R.Tensor((4,), dtype="float32") = lv[1]
            gv: R.Tensor((4,), dtype="float32") = R.multiply(lv_1, lv1)
            R.output(gv)
        return gv
