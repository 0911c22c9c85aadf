# SPDX-License-Identifier: Apache-2.0
# Products of int16 summed in int32, as quantized models have them, in blocks; the layout goes on through what quantizes with
# one scale. Those of bytes stay.
# target: cpu
# passes: BlockLayouts
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 8, 4, 4), dtype="int16"), y: R.Tensor((1, 8, 4, 4), dtype="int8")):
        with R.dataflow():
            w = R.full((8, 8, 1, 1), R.const(3, "int16"), dtype="int16")
            lv = R.nn.conv2d(x, w, out_dtype="int32")
            lv1 = R.quantize(lv, R.const(5.0, "float32"), R.const(3, "uint8"), out_dtype="uint8")
            w1 = R.full((8, 8, 1, 1), R.const(3, "int8"), dtype="int8")
            lv2 = R.nn.conv2d(y, w1, out_dtype="int32")
            gv = (lv1, lv2)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 8, 4, 4), dtype="int16"), y: R.Tensor((1, 8, 4, 4), dtype="int8")) -> R.Tuple(R.Tensor((1, 8, 4, 4), dtype="uint8"), R.Tensor((1, 8, 4, 4), dtype="int32")):
        with R.dataflow():
            w: R.Tensor((8, 8, 1, 1), dtype="int16") = R.full(R.shape([8, 8, 1, 1]), R.const(3, "int16"), dtype="int16")
            lv: R.Tensor((1, 1, 4, 4, 8), dtype="int16") = R.layout_transform(x, index_map=T.index_map(lambda i0, i1, i2, i3: (i0, i1 // 8, i2, i3, i1 % 8), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_1: R.Tensor((1, 1, 1, 1, 8, 8), dtype="int16") = R.layout_transform(w, index_map=T.index_map(lambda i0_1, i1_1, i2_1, i3_1: (i0_1 // 8, i1_1 // 8, i2_1, i3_1, i1_1 % 8, i0_1 % 8), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_2: R.Tensor((1, 1, 4, 4, 8), dtype="int32") = R.nn.conv2d(lv, lv_1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW8c", kernel_layout="OIHW8i8o", out_layout="NCHW8c", out_dtype="int32")
            lv1: R.Tensor((1, 1, 4, 4, 8), dtype="uint8") = R.quantize(lv_2, R.const(5.0, "float32"), R.const(3, "uint8"), axis=-1, out_dtype="uint8")
            w1: R.Tensor((8, 8, 1, 1), dtype="int8") = R.full(R.shape([8, 8, 1, 1]), R.const(3, "int8"), dtype="int8")
            lv2: R.Tensor((1, 8, 4, 4), dtype="int32") = R.nn.conv2d(y, w1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="int32")
            lv_3: R.Tensor((1, 8, 4, 4), dtype="uint8") = R.layout_transform(lv1, index_map=T.index_map(lambda i0_2, i1_2, i2_2, i3_2, i4: (i0_2, i1_2 * 8 + i4, i2_2, i3_2), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            gv: R.Tuple(R.Tensor((1, 8, 4, 4), dtype="uint8"), R.Tensor((1, 8, 4, 4), dtype="int32")) = (lv_3, lv2)
            R.output(gv)
        return gv
