# SPDX-License-Identifier: Apache-2.0
# Only the functions named are worked on.
# passes: FuseOpsByPattern{patterns=["a.relu := nn.relu(x)"], entry_functions=[other]}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            gv = R.nn.relu(x)
            R.output(gv)
        return gv

    @R.function
    def other(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            gv = R.nn.relu(x)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def fused_relax_nn_relu(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Composite": "a.relu", "Primitive": True})
        with R.dataflow():
            gv: R.Tensor((4,), dtype="float32") = R.nn.relu(x)
            R.output(gv)
        return gv

    @R.function
    def other(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            gv: R.Tensor((4,), dtype="float32") = cls.fused_relax_nn_relu(x)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((4,), dtype="float32") = R.nn.relu(x)
            R.output(gv)
        return gv
