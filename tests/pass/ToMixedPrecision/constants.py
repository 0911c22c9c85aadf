# SPDX-License-Identifier: Apache-2.0
# A constant within float16's range does not hinder; one beyond it makes its operator float32.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), w: R.Tensor((4, 4), dtype="float32")) -> R.Tensor((2, 4), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2, 4), dtype="float32") = R.matmul(x, w)
            lv1: R.Tensor((2, 4), dtype="float32") = R.multiply(lv, R.const(65504, "float32"))
            lv2: R.Tensor((2, 4), dtype="float32") = R.matmul(lv1, w)
            lv3: R.Tensor((2, 4), dtype="float32") = R.multiply(lv2, R.const(65505, "float32"))
            gv: R.Tensor((2, 4), dtype="float32") = R.add(lv3, lv3)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), w: R.Tensor((4, 4), dtype="float32")) -> R.Tensor((2, 4), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2, 4), dtype="float16") = R.astype(x, dtype="float16")
            lv_1: R.Tensor((4, 4), dtype="float16") = R.astype(w, dtype="float16")
            lv_2: R.Tensor((2, 4), dtype="float32") = R.matmul(lv, lv_1, out_dtype="float32")
            lv_3: R.Tensor((2, 4), dtype="float16") = R.astype(lv_2, dtype="float16")
            lv_4: R.Tensor((), dtype="float16") = R.astype(R.const(65504.0, "float32"), dtype="float16")
            lv1: R.Tensor((2, 4), dtype="float16") = R.multiply(lv_3, lv_4)
            lv_5: R.Tensor((2, 4), dtype="float32") = R.matmul(lv1, lv_1, out_dtype="float32")
            lv2: R.Tensor((2, 4), dtype="float16") = R.astype(lv_5, dtype="float16")
            lv_6: R.Tensor((2, 4), dtype="float32") = R.astype(lv2, dtype="float32")
            lv3: R.Tensor((2, 4), dtype="float32") = R.multiply(lv_6, R.const(65505.0, "float32"))
            gv: R.Tensor((2, 4), dtype="float32") = R.add(lv3, lv3)
            R.output(gv)
        return gv
