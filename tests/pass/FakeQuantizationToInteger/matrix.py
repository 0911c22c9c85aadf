# SPDX-License-Identifier: Apache-2.0
# Matrix products of bytes that come in: the first with weights that are turned, the second with a scale a column and a clip;
# its result is wanted as bytes.
@I.ir_module
class Before:
    @R.function
    def main(q: R.Tensor(("n", 2), dtype="uint8")) -> R.Tensor(("n", 2), dtype="int8"):
        n = T.int64()
        with R.dataflow():
            d = R.dequantize(q, R.const(0.5, "float32"), R.const(3, "uint8"))
            w = R.dequantize(R.const([[1, 2], [3, 4], [5, 6]], "int8"), R.const([0.5, 0.25, 1.0], "float32"), R.const([1, 2, 3], "int8"), axis=0)
            w1 = R.permute_dims(w, axes=[1, 0])
            lv = R.matmul(d, w1)
            q1 = R.quantize(lv, R.const(0.25, "float32"), R.const(100, "uint8"), out_dtype="uint8")
            d1 = R.dequantize(q1, R.const(0.25, "float32"), R.const(100, "uint8"))
            w2 = R.dequantize(R.const([[1, 2], [3, 4], [5, 6]], "int8"), R.const([0.5, 0.25], "float32"), R.const(0, "int8"), axis=1)
            lv1 = R.matmul(d1, w2)
            lv2 = R.clip(lv1, R.prim_value(-4), R.prim_value(6))
            gv = R.quantize(lv2, R.const(0.5, "float32"), R.const(-10, "int8"), out_dtype="int8")
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(q: R.Tensor(("n", 2), dtype="uint8")) -> R.Tensor(("n", 2), dtype="int8"):
        n = T.int64()
        with R.dataflow():
            lv: R.Tensor((n, 2), dtype="int16") = R.astype(q, dtype="int16")
            lv_1: R.Tensor((n, 2), dtype="int16") = R.subtract(lv, R.const(3, "int16"))
            lv_2: R.Tensor((3, 2), dtype="int16") = R.astype(R.const([[1, 2], [3, 4], [5, 6]], "int8"), dtype="int16")
            lv_3: R.Tensor((3, 2), dtype="int16") = R.subtract(lv_2, R.const([[1], [2], [3]], "int16"))
            lv_4: R.Tensor((2, 3), dtype="int16") = R.permute_dims(lv_3, axes=[1, 0])
            lv_5: R.Tensor((n, 3), dtype="int32") = R.matmul(lv_1, lv_4, out_dtype="int32")
            lv_6: R.Tensor((n, 3), dtype="float32") = R.astype(lv_5, dtype="float32")
            lv_7: R.Tensor((n, 3), dtype="float32") = R.multiply(lv_6, R.const([1.0, 0.5, 2.0], "float32"))
            lv_8: R.Tensor((n, 3), dtype="float32") = R.round(lv_7)
            lv_9: R.Tensor((n, 3), dtype="float32") = R.clip(lv_8, R.prim_value(T.float32(-100.0)), R.prim_value(T.float32(155.0)))
            lv_10: R.Tensor((n, 3), dtype="int16") = R.astype(lv_9, dtype="int16")
            lv_11: R.Tensor((3, 2), dtype="int16") = R.astype(R.const([[1, 2], [3, 4], [5, 6]], "int8"), dtype="int16")
            lv_12: R.Tensor((n, 2), dtype="int32") = R.matmul(lv_10, lv_11, out_dtype="int32")
            lv_13: R.Tensor((n, 2), dtype="float32") = R.astype(lv_12, dtype="float32")
            lv_14: R.Tensor((n, 2), dtype="float32") = R.multiply(lv_13, R.const([0.25, 0.125], "float32"))
            lv_15: R.Tensor((n, 2), dtype="float32") = R.round(lv_14)
            lv_16: R.Tensor((n, 2), dtype="float32") = R.add(lv_15, R.const(-10.0, "float32"))
            lv_17: R.Tensor((n, 2), dtype="float32") = R.clip(lv_16, R.prim_value(T.float32(-18.0)), R.prim_value(T.float32(2.0)))
            gv: R.Tensor((n, 2), dtype="int8") = R.astype(lv_17, dtype="int8")
            R.output(gv)
        return gv
