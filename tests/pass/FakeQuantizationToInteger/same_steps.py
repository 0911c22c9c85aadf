# SPDX-License-Identifier: Apache-2.0
# Maxima over windows between equal scales take the differences as they are; a reshape of what stays bytes takes bytes. With
# another scale the values are quantized anew.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 2, 4, 4), dtype="float32"), y: R.Tensor((1, 2, 2, 2), dtype="uint8")):
        with R.dataflow():
            q = R.quantize(x, R.const(0.5, "float32"), R.const(3, "uint8"), out_dtype="uint8")
            d = R.dequantize(q, R.const(0.5, "float32"), R.const(3, "uint8"))
            m = R.nn.max_pool2d(d, pool_size=[2, 2], strides=[2, 2])
            q1 = R.quantize(m, R.const(0.5, "float32"), R.const(3, "uint8"), out_dtype="uint8")
            d1 = R.dequantize(q1, R.const(0.5, "float32"), R.const(3, "uint8"))
            w = R.dequantize(R.const([[[[1]], [[2]]], [[[3]], [[-4]]]], "int8"), R.const(0.25, "float32"), R.const(0, "int8"))
            c = R.nn.conv2d(d1, w)
            d2 = R.dequantize(y, R.const(0.5, "float32"), R.const(3, "uint8"))
            c2 = R.nn.conv2d(d2, w)
            r = R.reshape(d2, R.shape([1, 8]))
            q3 = R.quantize(r, R.const(0.5, "float32"), R.const(3, "uint8"), out_dtype="uint8")
            q4 = R.quantize(r, R.const(0.25, "float32"), R.const(3, "uint8"), out_dtype="uint8")
            gv = (c, c2, q3, q4)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 2, 4, 4), dtype="float32"), y: R.Tensor((1, 2, 2, 2), dtype="uint8")) -> R.Tuple(R.Tensor((1, 2, 2, 2), dtype="float32"), R.Tensor((1, 2, 2, 2), dtype="float32"), R.Tensor((1, 8), dtype="uint8"), R.Tensor((1, 8), dtype="uint8")):
        with R.dataflow():
            lv: R.Tensor((1, 2, 4, 4), dtype="float32") = R.divide(x, R.const(0.5, "float32"))
            lv_1: R.Tensor((1, 2, 4, 4), dtype="float32") = R.round(lv)
            lv_2: R.Tensor((1, 2, 4, 4), dtype="float32") = R.clip(lv_1, R.prim_value(T.float32(-3.0)), R.prim_value(T.float32(252.0)))
            lv_3: R.Tensor((1, 2, 4, 4), dtype="int16") = R.astype(lv_2, dtype="int16")
            lv_4: R.Tensor((1, 2, 2, 2), dtype="int16") = R.nn.max_pool2d(lv_3, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0], dilation=[1, 1], ceil_mode=False, count_include_pad=False, layout="NCHW", out_layout="NCHW")
            lv_5: R.Tensor((2, 2, 1, 1), dtype="int16") = R.astype(R.const([[[[1]], [[2]]], [[[3]], [[-4]]]], "int8"), dtype="int16")
            lv_6: R.Tensor((1, 2, 2, 2), dtype="int32") = R.nn.conv2d(lv_4, lv_5, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="int32")
            lv_7: R.Tensor((1, 2, 2, 2), dtype="float32") = R.astype(lv_6, dtype="float32")
            c: R.Tensor((1, 2, 2, 2), dtype="float32") = R.multiply(lv_7, R.const(0.125, "float32"))
            d2: R.Tensor((1, 2, 2, 2), dtype="float32") = R.dequantize(y, R.const(0.5, "float32"), R.const(3, "uint8"), axis=-1, out_dtype="float32")
            lv_8: R.Tensor((1, 2, 2, 2), dtype="int16") = R.astype(y, dtype="int16")
            lv_9: R.Tensor((1, 2, 2, 2), dtype="int16") = R.subtract(lv_8, R.const(3, "int16"))
            lv_10: R.Tensor((2, 2, 1, 1), dtype="int16") = R.astype(R.const([[[[1]], [[2]]], [[[3]], [[-4]]]], "int8"), dtype="int16")
            lv_11: R.Tensor((1, 2, 2, 2), dtype="int32") = R.nn.conv2d(lv_9, lv_10, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="int32")
            lv_12: R.Tensor((1, 2, 2, 2), dtype="float32") = R.astype(lv_11, dtype="float32")
            c2: R.Tensor((1, 2, 2, 2), dtype="float32") = R.multiply(lv_12, R.const(0.125, "float32"))
            r: R.Tensor((1, 8), dtype="float32") = R.reshape(d2, R.shape([1, 8]))
            q3: R.Tensor((1, 8), dtype="uint8") = R.reshape(y, R.shape([1, 8]))
            q4: R.Tensor((1, 8), dtype="uint8") = R.quantize(r, R.const(0.25, "float32"), R.const(3, "uint8"), axis=-1, out_dtype="uint8")
            gv: R.Tuple(R.Tensor((1, 2, 2, 2), dtype="float32"), R.Tensor((1, 2, 2, 2), dtype="float32"), R.Tensor((1, 8), dtype="uint8"), R.Tensor((1, 8), dtype="uint8")) = (c, c2, q3, q4)
            R.output(gv)
        return gv
