# SPDX-License-Identifier: Apache-2.0
# A convolution with a bias and relu between dequantize and quantize; what it reads and what reads it are differences from
# their zero points. Weights have a scale a channel. The last sum of two dequantized values stays one of floats.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 2, 4, 4), dtype="float32")) -> R.Tensor((1, 2, 4, 4), dtype="float32"):
        with R.dataflow():
            q = R.quantize(x, R.const(0.5, "float32"), R.const(3, "uint8"), out_dtype="uint8")
            d = R.dequantize(q, R.const(0.5, "float32"), R.const(3, "uint8"))
            w = R.dequantize(R.const([[[[1]], [[2]]], [[[3]], [[-4]]]], "int8"), R.const([0.25, 0.5], "float32"), R.const([0, 0], "int8"), axis=0)
            c = R.nn.conv2d(d, w)
            b = R.dequantize(R.const([10, -20], "int32"), R.const([0.125, 0.25], "float32"), R.const([0, 0], "int32"), axis=0)
            b1 = R.reshape(b, R.shape([1, 2, 1, 1]))
            c1 = R.add(c, b1)
            r = R.nn.relu(c1)
            q1 = R.quantize(r, R.const(0.25, "float32"), R.const(128, "uint8"), out_dtype="uint8")
            d1 = R.dequantize(q1, R.const(0.25, "float32"), R.const(128, "uint8"))
            w1 = R.dequantize(R.const([[[[5]], [[6]]], [[[7]], [[8]]]], "uint8"), R.const(0.5, "float32"), R.const(6, "uint8"))
            c2 = R.nn.conv2d(d1, w1)
            q2 = R.quantize(c2, R.const(2.0, "float32"), R.const(-1, "int8"), out_dtype="int8")
            d2 = R.dequantize(q2, R.const(2.0, "float32"), R.const(-1, "int8"))
            gv = R.add(d2, d)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 2, 4, 4), dtype="float32")) -> R.Tensor((1, 2, 4, 4), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 2, 4, 4), dtype="float32") = R.divide(x, R.const(0.5, "float32"))
            lv_1: R.Tensor((1, 2, 4, 4), dtype="float32") = R.round(lv)
            lv_2: R.Tensor((1, 2, 4, 4), dtype="float32") = R.clip(lv_1, R.prim_value(T.float32(-3.0)), R.prim_value(T.float32(252.0)))
            lv_3: R.Tensor((1, 2, 4, 4), dtype="int16") = R.astype(lv_2, dtype="int16")
            lv_4: R.Tensor((1, 2, 4, 4), dtype="float32") = R.astype(lv_3, dtype="float32")
            d: R.Tensor((1, 2, 4, 4), dtype="float32") = R.multiply(lv_4, R.const(0.5, "float32"))
            lv_5: R.Tensor((2, 2, 1, 1), dtype="int16") = R.astype(R.const([[[[1]], [[2]]], [[[3]], [[-4]]]], "int8"), dtype="int16")
            lv_6: R.Tensor((1, 2, 4, 4), dtype="int32") = R.nn.conv2d(lv_3, lv_5, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="int32")
            lv_7: R.Tensor((1, 2, 4, 4), dtype="int32") = R.add(lv_6, R.const([[[[10]], [[-20]]]], "int32"))
            lv_8: R.Tensor((1, 2, 4, 4), dtype="float32") = R.astype(lv_7, dtype="float32")
            lv_9: R.Tensor((1, 2, 4, 4), dtype="float32") = R.multiply(lv_8, R.const([[[[0.5]], [[1.0]]]], "float32"))
            lv_10: R.Tensor((1, 2, 4, 4), dtype="float32") = R.round(lv_9)
            lv_11: R.Tensor((1, 2, 4, 4), dtype="float32") = R.clip(lv_10, R.prim_value(T.float32(0.0)), R.prim_value(T.float32(127.0)))
            lv_12: R.Tensor((1, 2, 4, 4), dtype="int16") = R.astype(lv_11, dtype="int16")
            lv_13: R.Tensor((2, 2, 1, 1), dtype="int16") = R.astype(R.const([[[[5]], [[6]]], [[[7]], [[8]]]], "uint8"), dtype="int16")
            lv_14: R.Tensor((2, 2, 1, 1), dtype="int16") = R.subtract(lv_13, R.const(6, "int16"))
            lv_15: R.Tensor((1, 2, 4, 4), dtype="int32") = R.nn.conv2d(lv_12, lv_14, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="int32")
            lv_16: R.Tensor((1, 2, 4, 4), dtype="float32") = R.astype(lv_15, dtype="float32")
            lv_17: R.Tensor((1, 2, 4, 4), dtype="float32") = R.multiply(lv_16, R.const(0.0625, "float32"))
            lv_18: R.Tensor((1, 2, 4, 4), dtype="float32") = R.round(lv_17)
            lv_19: R.Tensor((1, 2, 4, 4), dtype="float32") = R.clip(lv_18, R.prim_value(T.float32(-127.0)), R.prim_value(T.float32(128.0)))
            d2: R.Tensor((1, 2, 4, 4), dtype="float32") = R.multiply(lv_19, R.const(2.0, "float32"))
            gv: R.Tensor((1, 2, 4, 4), dtype="float32") = R.add(d2, d)
            R.output(gv)
        return gv
