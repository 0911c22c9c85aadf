# SPDX-License-Identifier: Apache-2.0
# Two tensors that come in with few rows, a zero point that is no constant, scales along the wrong axis, and sums that are too long for int32.
@I.ir_module
class Before:
    @R.function
    def main(q: R.Tensor((4, 2), dtype="uint8"), w: R.Tensor((2, 2), dtype="int8"), z: R.Tensor((), dtype="uint8"), p: R.Tensor((1, 40000), dtype="int8")):
        with R.dataflow():
            d = R.dequantize(q, R.const(0.5, "float32"), R.const(3, "uint8"))
            w0 = R.dequantize(w, R.const(0.5, "float32"), R.const(0, "int8"))
            lv = R.matmul(d, w0)
            d1 = R.dequantize(q, R.const(0.5, "float32"), z)
            w1 = R.dequantize(R.const([[1, 2], [3, 4]], "int8"), R.const(0.5, "float32"), R.const(0, "int8"))
            lv1 = R.matmul(d1, w1)
            w2 = R.dequantize(R.const([[1, 2], [3, 4]], "int8"), R.const([0.5, 0.25], "float32"), R.const([0, 0], "int8"), axis=0)
            lv2 = R.matmul(d, w2)
            d3 = R.dequantize(p, R.const(0.5, "float32"), R.const(0, "int8"))
            w3 = R.dequantize(R.full((40000, 2), R.const(3, "int8"), dtype="int8"), R.const(0.5, "float32"), R.const(0, "int8"))
            lv3 = R.matmul(d3, w3)
            gv = (lv, lv1, lv2, lv3)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(q: R.Tensor((4, 2), dtype="uint8"), w: R.Tensor((2, 2), dtype="int8"), z: R.Tensor((), dtype="uint8"), p: R.Tensor((1, 40000), dtype="int8")) -> R.Tuple(R.Tensor((4, 2), dtype="float32"), R.Tensor((4, 2), dtype="float32"), R.Tensor((4, 2), dtype="float32"), R.Tensor((1, 2), dtype="float32")):
        with R.dataflow():
            d: R.Tensor((4, 2), dtype="float32") = R.dequantize(q, R.const(0.5, "float32"), R.const(3, "uint8"), axis=-1, out_dtype="float32")
            w0: R.Tensor((2, 2), dtype="float32") = R.dequantize(w, R.const(0.5, "float32"), R.const(0, "int8"), axis=-1, out_dtype="float32")
            lv: R.Tensor((4, 2), dtype="float32") = R.matmul(d, w0, out_dtype="void")
            d1: R.Tensor((4, 2), dtype="float32") = R.dequantize(q, R.const(0.5, "float32"), z, axis=-1, out_dtype="float32")
            w1: R.Tensor((2, 2), dtype="float32") = R.dequantize(R.const([[1, 2], [3, 4]], "int8"), R.const(0.5, "float32"), R.const(0, "int8"), axis=-1, out_dtype="float32")
            lv1: R.Tensor((4, 2), dtype="float32") = R.matmul(d1, w1, out_dtype="void")
            w2: R.Tensor((2, 2), dtype="float32") = R.dequantize(R.const([[1, 2], [3, 4]], "int8"), R.const([0.5, 0.25], "float32"), R.const([0, 0], "int8"), axis=0, out_dtype="float32")
            lv2: R.Tensor((4, 2), dtype="float32") = R.matmul(d, w2, out_dtype="void")
            d3: R.Tensor((1, 40000), dtype="float32") = R.dequantize(p, R.const(0.5, "float32"), R.const(0, "int8"), axis=-1, out_dtype="float32")
            lv_1: R.Tensor((40000, 2), dtype="int8") = R.full(R.shape([40000, 2]), R.const(3, "int8"), dtype="int8")
            w3: R.Tensor((40000, 2), dtype="float32") = R.dequantize(lv_1, R.const(0.5, "float32"), R.const(0, "int8"), axis=-1, out_dtype="float32")
            lv3: R.Tensor((1, 2), dtype="float32") = R.matmul(d3, w3, out_dtype="void")
            gv: R.Tuple(R.Tensor((4, 2), dtype="float32"), R.Tensor((4, 2), dtype="float32"), R.Tensor((4, 2), dtype="float32"), R.Tensor((1, 2), dtype="float32")) = (lv, lv1, lv2, lv3)
            R.output(gv)
        return gv
