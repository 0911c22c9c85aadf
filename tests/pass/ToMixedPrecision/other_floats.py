# SPDX-License-Identifier: Apache-2.0
# passes: ToMixedPrecision
# float16 operators of other dtypes compute in these: nothing loses precision that was asked for.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4, 4), dtype="float64"), y: R.Tensor((4, 4), dtype="float32"), i: R.Tensor((4, 4), dtype="int8")):
        with R.dataflow():
            a = R.matmul(x, x)
            b = R.multiply(a, R.const(0.5, "float64"))
            c = R.matmul(y, y, out_dtype="float64")
            d = R.matmul(i, i, out_dtype="int32")
            e = R.matmul(y, y)
            R.output(b, c, d, e)
        return (b, c, d, e)
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4, 4), dtype="float64"), y: R.Tensor((4, 4), dtype="float32"), i: R.Tensor((4, 4), dtype="int8")) -> R.Tuple(R.Tensor((4, 4), dtype="float64"), R.Tensor((4, 4), dtype="float64"), R.Tensor((4, 4), dtype="int32"), R.Tensor((4, 4), dtype="float32")):
        with R.dataflow():
            a: R.Tensor((4, 4), dtype="float64") = R.matmul(x, x, out_dtype="void")
            b: R.Tensor((4, 4), dtype="float64") = R.multiply(a, R.const(0.5, "float64"))
            c: R.Tensor((4, 4), dtype="float64") = R.matmul(y, y, out_dtype="float64")
            d: R.Tensor((4, 4), dtype="int32") = R.matmul(i, i, out_dtype="int32")
            lv: R.Tensor((4, 4), dtype="float16") = R.astype(y, dtype="float16")
            lv_1: R.Tensor((4, 4), dtype="float16") = R.astype(y, dtype="float16")
            e: R.Tensor((4, 4), dtype="float32") = R.matmul(lv, lv_1, out_dtype="float32")
            R.output(b, c, d, e)
        return (b, c, d, e)
