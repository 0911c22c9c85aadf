# SPDX-License-Identifier: Apache-2.0
# wrap_param goes: the parameter is taken as it is stored.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), w: R.Tensor((4, 3), dtype="float16")) -> R.Tensor((2, 3), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((4, 3), dtype="float32") = R.wrap_param(w, dtype="float32")
            lv1: R.Tensor((2, 3), dtype="float32") = R.matmul(x, lv)
            gv: R.Tensor((2, 3), dtype="float32") = lv1
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), w: R.Tensor((4, 3), dtype="float16")) -> R.Tensor((2, 3), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2, 4), dtype="float16") = R.astype(x, dtype="float16")
            lv_1: R.Tensor((4, 3), dtype="float16") = w
            lv_2: R.Tensor((2, 3), dtype="float32") = R.matmul(lv, lv_1, out_dtype="float32")
            lv1: R.Tensor((2, 3), dtype="float16") = R.astype(lv_2, dtype="float16")
            gv: R.Tensor((2, 3), dtype="float32") = R.astype(lv1, dtype="float32")
            R.output(gv)
        return gv
