# SPDX-License-Identifier: Apache-2.0
# passes: RunCodegen
# A module without functions marked Codegen stays as it is.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32"), w: R.Tensor((8, 8), dtype="float32"), b: R.Tensor((8,), dtype="float32")):
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
    def main(x: R.Tensor((4, 8), dtype="float32"), w: R.Tensor((8, 8), dtype="float32"), b: R.Tensor((8,), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((4, 8), dtype="float32") = R.matmul(x, w, out_dtype="void")
            lv1: R.Tensor((4, 8), dtype="float32") = R.add(lv, b)
            lv2: R.Tensor((4, 8), dtype="float32") = R.nn.relu(lv1)
            lv3: R.Tensor((4, 8), dtype="float32") = R.exp(lv2)
            gv: R.Tensor((4, 8), dtype="float32") = R.matmul(lv3, w, out_dtype="void")
            R.output(gv)
        return gv
