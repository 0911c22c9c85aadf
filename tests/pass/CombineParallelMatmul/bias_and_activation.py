# SPDX-License-Identifier: Apache-2.0
# Bias and activation are combined when all products have them alike; the product itself may be used besides.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 2, 4), dtype="float16"), w0: R.Tensor((4, 3), dtype="float16"), w1: R.Tensor((4, 5), dtype="float16"), b0: R.Tensor((3,), dtype="float16"), b1: R.Tensor((5,), dtype="float16")) -> R.Tuple(R.Tensor((1, 2, 3), dtype="float32"), R.Tensor((1, 2, 5), dtype="float32"), R.Tensor((1, 2, 3), dtype="float32")):
        with R.dataflow():
            lv: R.Tensor((1, 2, 3), dtype="float32") = R.matmul(x, w0, out_dtype="float32")
            lv1: R.Tensor((1, 2, 3), dtype="float32") = R.nn.silu(lv)
            lv2: R.Tensor((1, 2, 5), dtype="float32") = R.matmul(x, w1, out_dtype="float32")
            lv3: R.Tensor((1, 2, 5), dtype="float32") = R.nn.silu(lv2)
            gv = (lv1, lv3, lv)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 2, 4), dtype="float16"), w0: R.Tensor((4, 3), dtype="float16"), w1: R.Tensor((4, 5), dtype="float16"), b0: R.Tensor((3,), dtype="float16"), b1: R.Tensor((5,), dtype="float16")) -> R.Tuple(R.Tensor((1, 2, 3), dtype="float32"), R.Tensor((1, 2, 5), dtype="float32"), R.Tensor((1, 2, 3), dtype="float32")):
        with R.dataflow():
            lv: R.Tensor((1, 2, 3), dtype="float32") = R.matmul(x, w0, out_dtype="float32")
            lv_1: R.Tensor((4, 8), dtype="float16") = R.concat((w0, w1), axis=1)
            lv_2: R.Tensor((1, 2, 8), dtype="float32") = R.matmul(x, lv_1, out_dtype="float32")
            lv_3: R.Tensor((1, 2, 8), dtype="float32") = R.nn.silu(lv_2)
            lv_4: R.Tuple(R.Tensor((1, 2, 3), dtype="float32"), R.Tensor((1, 2, 5), dtype="float32")) = R.split(lv_3, indices_or_sections=[3], axis=2)
            lv1: R.Tensor((1, 2, 3), dtype="float32") = lv_4[0]
            lv3: R.Tensor((1, 2, 5), dtype="float32") = lv_4[1]
            gv: R.Tuple(R.Tensor((1, 2, 3), dtype="float32"), R.Tensor((1, 2, 5), dtype="float32"), R.Tensor((1, 2, 3), dtype="float32")) = (lv1, lv3, lv)
            R.output(gv)
        return gv
