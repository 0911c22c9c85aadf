# SPDX-License-Identifier: Apache-2.0
# A dependence that arises later counts: joining both ends would close a circle through a third function.
# passes: FuseOpsByPattern{patterns=["a.relu := nn.relu(x)", "b.exp := exp(x)", "a.add := add(x, y)", "b.mul := multiply(x, y)"]}, MergeCompositeFunctions
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            a = R.nn.relu(x)
            b = R.exp(y)
            b1 = R.multiply(b, a)
            a1 = R.add(a, b)
            a2 = R.add(a1, b1)
            gv = R.subtract(a2, b1)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def fused_relax_add_relax_add_a(a: R.Tensor((4,), dtype="float32"), b: R.Tensor((4,), dtype="float32"), b1: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Codegen": "a"})
        @R.function
        def local_func(a_1: R.Tensor((4,), dtype="float32"), b_1: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            R.func_attr({"Composite": "a.add"})
            with R.dataflow():
                a1: R.Tensor((4,), dtype="float32") = R.add(a_1, b_1)
                R.output(a1)
            return a1
        a1_1: R.Tensor((4,), dtype="float32") = local_func(a, b)
        a2: R.Tensor((4,), dtype="float32") = local_func(a1_1, b1)
        return a2

    @R.function
    def fused_relax_exp_relax_multiply_b(y: R.Tensor((4,), dtype="float32"), a: R.Tensor((4,), dtype="float32")) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")):
        R.func_attr({"Codegen": "b"})
        @R.function
        def local_func(y_1: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            R.func_attr({"Composite": "b.exp"})
            with R.dataflow():
                b: R.Tensor((4,), dtype="float32") = R.exp(y_1)
                R.output(b)
            return b
        b_1: R.Tensor((4,), dtype="float32") = local_func(y)
        @R.function
        def local_func_1(b_2: R.Tensor((4,), dtype="float32"), a_1: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            R.func_attr({"Composite": "b.mul"})
            with R.dataflow():
                b1: R.Tensor((4,), dtype="float32") = R.multiply(b_2, a_1)
                R.output(b1)
            return b1
        b1_1: R.Tensor((4,), dtype="float32") = local_func_1(b_1, a)
        return (b_1, b1_1)

    @R.function
    def fused_relax_nn_relu1_a(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Codegen": "a"})
        @R.function
        def local_func(x_1: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            R.func_attr({"Composite": "a.relu"})
            with R.dataflow():
                a: R.Tensor((4,), dtype="float32") = R.nn.relu(x_1)
                R.output(a)
            return a
        a_1: R.Tensor((4,), dtype="float32") = local_func(x)
        return a_1

    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            a: R.Tensor((4,), dtype="float32") = cls.fused_relax_nn_relu1_a(x)
            lv: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")) = cls.fused_relax_exp_relax_multiply_b(y, a)
            b: R.Tensor((4,), dtype="float32") = lv[0]
            b1: R.Tensor((4,), dtype="float32") = lv[1]
            a2: R.Tensor((4,), dtype="float32") = cls.fused_relax_add_relax_add_a(a, b, b1)
            gv: R.Tensor((4,), dtype="float32") = R.subtract(a2, b1)
            R.output(gv)
        return gv
