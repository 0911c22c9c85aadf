# SPDX-License-Identifier: Apache-2.0
# passes: FuseOpsByPattern{patterns=["testext.*"], annotate_codegen=true}, RunCodegen{fallback=true}
# Also where the generator recorded an error: it is told as the reason, in a warning.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4, 8), dtype="float64"), w: R.Tensor((8, 8), dtype="float64"), b: R.Tensor((8,), dtype="float64")):
        with R.dataflow():
            lv = R.matmul(x, w)
            lv1 = R.add(lv, b)
            lv2 = R.nn.relu(lv1)
            lv3 = R.exp(lv2)
            gv = R.matmul(lv3, w)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def fused_relax_matmul_relax_add_relax_nn_relu_testext(x: R.Tensor((4, 8), dtype="float64"), w: R.Tensor((8, 8), dtype="float64"), b: R.Tensor((8,), dtype="float64")) -> R.Tensor((4, 8), dtype="float64"):
        lv: R.Tensor((4, 8), dtype="float64") = R.matmul(x, w, out_dtype="void")
        lv1: R.Tensor((4, 8), dtype="float64") = R.add(lv, b)
        lv2: R.Tensor((4, 8), dtype="float64") = R.nn.relu(lv1)
        return lv2

    @R.function
    def fused_relax_matmul_testext(lv3: R.Tensor((4, 8), dtype="float64"), w: R.Tensor((8, 8), dtype="float64")) -> R.Tensor((4, 8), dtype="float64"):
        gv: R.Tensor((4, 8), dtype="float64") = R.matmul(lv3, w, out_dtype="void")
        return gv

    @R.function
    def main(x: R.Tensor((4, 8), dtype="float64"), w: R.Tensor((8, 8), dtype="float64"), b: R.Tensor((8,), dtype="float64")) -> R.Tensor((4, 8), dtype="float64"):
        cls = Expected
        with R.dataflow():
            lv2: R.Tensor((4, 8), dtype="float64") = cls.fused_relax_matmul_relax_add_relax_nn_relu_testext(x, w, b)
            lv3: R.Tensor((4, 8), dtype="float64") = R.exp(lv2)
            gv: R.Tensor((4, 8), dtype="float64") = cls.fused_relax_matmul_testext(lv3, w)
            R.output(gv)
        return gv
