# SPDX-License-Identifier: Apache-2.0
# annotate_codegen wraps the composite in a function with Codegen and a global symbol.
# passes: FuseOpsByPattern{patterns=["dnnl.matmul_relu := nn.relu(matmul(x, w))"], annotate_codegen=true}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32"), w: R.Tensor((8, 8), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
        with R.dataflow():
            lv = R.matmul(x, w)
            lv1 = R.nn.relu(lv)
            lv2 = R.matmul(lv1, w)
            gv = R.nn.relu(lv2)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def fused_relax_matmul_relax_nn_relu_dnnl(x: R.Tensor((4, 8), dtype="float32"), w: R.Tensor((8, 8), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
        R.func_attr({"Codegen": "dnnl"})
        @R.function
        def local_func(x_1: R.Tensor((4, 8), dtype="float32"), w_1: R.Tensor((8, 8), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
            R.func_attr({"Composite": "dnnl.matmul_relu"})
            with R.dataflow():
                lv: R.Tensor((4, 8), dtype="float32") = R.matmul(x_1, w_1, out_dtype="void")
                lv1: R.Tensor((4, 8), dtype="float32") = R.nn.relu(lv)
                R.output(lv1)
            return lv1
        output: R.Tensor((4, 8), dtype="float32") = local_func(x, w)
        return output

    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32"), w: R.Tensor((8, 8), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
        cls = Expected
        with R.dataflow():
            lv1: R.Tensor((4, 8), dtype="float32") = cls.fused_relax_matmul_relax_nn_relu_dnnl(x, w)
            gv: R.Tensor((4, 8), dtype="float32") = cls.fused_relax_matmul_relax_nn_relu_dnnl(lv1, w)
            R.output(gv)
        return gv
