# SPDX-License-Identifier: Apache-2.0
# Both operands of a matrix product are computed: attention's queries and keys.
# passes: FakeQuantizationToInteger
@I.ir_module
class Before:
    @R.function
    def main(q: R.Tensor((4, 16, 32), "uint8"), k: R.Tensor((4, 16, 32), "int8")):
        with R.dataflow():
            a = R.dequantize(q, R.const(0.5, "float32"), R.const(100, "uint8"))
            b = R.dequantize(k, R.const(0.25, "float32"), R.const(0, "int8"))
            t = R.permute_dims(b, axes=[0, 2, 1])
            m = R.matmul(a, t)
            gv = R.quantize(m, R.const(0.125, "float32"), R.const(128, "uint8"), out_dtype="uint8")
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(q: R.Tensor((4, 16, 32), dtype="uint8"), k: R.Tensor((4, 16, 32), dtype="int8")) -> R.Tensor((4, 16, 16), dtype="uint8"):
        with R.dataflow():
            lv: R.Tensor((4, 16, 32), dtype="int16") = R.astype(q, dtype="int16")
            lv_1: R.Tensor((4, 16, 32), dtype="int16") = R.subtract(lv, R.const(100, "int16"))
            lv_2: R.Tensor((4, 16, 32), dtype="int16") = R.astype(k, dtype="int16")
            lv_3: R.Tensor((4, 32, 16), dtype="int16") = R.permute_dims(lv_2, axes=[0, 2, 1])
            lv_4: R.Tensor((4, 16, 16), dtype="int32") = R.matmul(lv_1, lv_3, out_dtype="int32")
            lv_5: R.Tensor((4, 16, 16), dtype="float32") = R.astype(lv_4, dtype="float32")
            lv_6: R.Tensor((4, 16, 16), dtype="float32") = R.multiply(lv_5, R.const(1.0, "float32"))
            lv_7: R.Tensor((4, 16, 16), dtype="float32") = R.round(lv_6)
            lv_8: R.Tensor((4, 16, 16), dtype="float32") = R.add(lv_7, R.const(128.0, "float32"))
            lv_9: R.Tensor((4, 16, 16), dtype="float32") = R.clip(lv_8, R.prim_value(T.float32(0.0)), R.prim_value(T.float32(255.0)))
            gv: R.Tensor((4, 16, 16), dtype="uint8") = R.astype(lv_9, dtype="uint8")
            R.output(gv)
        return gv
