# SPDX-License-Identifier: Apache-2.0
# out_dtype float16: operators accumulate in float16, nothing is converted after them; a parameter comes in float16.
# passes: ToMixedPrecision{out_dtype=float16, fp16_input_names=["w"]}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), w: R.Tensor((4, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2, 3), dtype="float32") = R.matmul(x, w)
            lv1: R.Tensor((2, 3), dtype="float32") = R.nn.gelu(lv)
            gv: R.Tensor((2, 3), dtype="float32") = R.add(lv1, lv)
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
            lv_1: R.Tensor((2, 3), dtype="float16") = R.matmul(lv, w, out_dtype="float16")
            lv1: R.Tensor((2, 3), dtype="float16") = R.nn.gelu(lv_1)
            lv_2: R.Tensor((2, 3), dtype="float16") = R.add(lv1, lv_1)
            gv: R.Tensor((2, 3), dtype="float32") = R.astype(lv_2, dtype="float32")
            R.output(gv)
        return gv
