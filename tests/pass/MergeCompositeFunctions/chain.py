# SPDX-License-Identifier: Apache-2.0
# Calls of one codegen's composites that follow each other become one function; a composite used twice is one local function.
# passes: FuseOpsByPattern{patterns=["a.relu := nn.relu(x)", "a.add := add(x, y)"]}, MergeCompositeFunctions
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            lv = R.nn.relu(x)
            lv1 = R.add(lv, y)
            lv2 = R.nn.relu(lv1)
            gv = R.exp(lv2)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def fused_relax_nn_relu_relax_add_relax_nn_relu_a(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Codegen": "a"})
        @R.function
        def local_func(x_1: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            R.func_attr({"Composite": "a.relu"})
            with R.dataflow():
                lv: R.Tensor((4,), dtype="float32") = R.nn.relu(x_1)
                R.output(lv)
            return lv
        lv_1: R.Tensor((4,), dtype="float32") = local_func(x)
        @R.function
        def local_func_1(lv_2: R.Tensor((4,), dtype="float32"), y_1: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            R.func_attr({"Composite": "a.add"})
            with R.dataflow():
                lv1: R.Tensor((4,), dtype="float32") = R.add(lv_2, y_1)
                R.output(lv1)
            return lv1
        lv1_1: R.Tensor((4,), dtype="float32") = local_func_1(lv_1, y)
        lv2: R.Tensor((4,), dtype="float32") = local_func(lv1_1)
        return lv2

    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            lv2: R.Tensor((4,), dtype="float32") = cls.fused_relax_nn_relu_relax_add_relax_nn_relu_a(x, y)
            gv: R.Tensor((4,), dtype="float32") = R.exp(lv2)
            R.output(gv)
        return gv
