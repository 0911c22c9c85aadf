# SPDX-License-Identifier: Apache-2.0
# Composites of another codegen stay apart, and what depends on one of them does not join the producer again.
# passes: FuseOpsByPattern{patterns=["a.relu := nn.relu(x)", "b.exp := exp(x)", "a.add := add(x, y)"]}, MergeCompositeFunctions
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            lv = R.nn.relu(x)
            lv1 = R.exp(lv)
            gv = R.add(lv, lv1)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def fused_relax_add1_a(lv: R.Tensor((4,), dtype="float32"), lv1: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Codegen": "a"})
        @R.function
        def local_func(lv_1: R.Tensor((4,), dtype="float32"), lv1_1: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            R.func_attr({"Composite": "a.add"})
            with R.dataflow():
                gv: R.Tensor((4,), dtype="float32") = R.add(lv_1, lv1_1)
                R.output(gv)
            return gv
        gv_1: R.Tensor((4,), dtype="float32") = local_func(lv, lv1)
        return gv_1

    @R.function
    def fused_relax_exp1_b(lv: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Codegen": "b"})
        @R.function
        def local_func(lv_1: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            R.func_attr({"Composite": "b.exp"})
            with R.dataflow():
                lv1: R.Tensor((4,), dtype="float32") = R.exp(lv_1)
                R.output(lv1)
            return lv1
        lv1_1: R.Tensor((4,), dtype="float32") = local_func(lv)
        return lv1_1

    @R.function
    def fused_relax_nn_relu1_a(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Codegen": "a"})
        @R.function
        def local_func(x_1: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            R.func_attr({"Composite": "a.relu"})
            with R.dataflow():
                lv: R.Tensor((4,), dtype="float32") = R.nn.relu(x_1)
                R.output(lv)
            return lv
        lv_1: R.Tensor((4,), dtype="float32") = local_func(x)
        return lv_1

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            lv: R.Tensor((4,), dtype="float32") = cls.fused_relax_nn_relu1_a(x)
            lv1: R.Tensor((4,), dtype="float32") = cls.fused_relax_exp1_b(lv)
            gv: R.Tensor((4,), dtype="float32") = cls.fused_relax_add1_a(lv, lv1)
            R.output(gv)
        return gv
