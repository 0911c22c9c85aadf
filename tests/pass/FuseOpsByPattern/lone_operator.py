# SPDX-License-Identifier: Apache-2.0
# A pattern of one operator makes a function too.
# passes: FuseOpsByPattern{patterns=["a.relu := nn.relu(x)"]}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
        with R.dataflow():
            lv = R.nn.relu(x)
            gv = R.exp(lv)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def fused_relax_nn_relu(x: R.Tensor((4, 8), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
        R.func_attr({"Composite": "a.relu", "Primitive": True})
        with R.dataflow():
            lv: R.Tensor((4, 8), dtype="float32") = R.nn.relu(x)
            R.output(lv)
        return lv

    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
        cls = Expected
        with R.dataflow():
            lv: R.Tensor((4, 8), dtype="float32") = cls.fused_relax_nn_relu(x)
            gv: R.Tensor((4, 8), dtype="float32") = R.exp(lv)
            R.output(gv)
        return gv
