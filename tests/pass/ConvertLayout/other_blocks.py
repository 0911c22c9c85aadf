# SPDX-License-Identifier: Apache-2.0
# From blocks of one size to blocks of another.
# passes: ConvertLayout{desired_layouts={"relax.nn.conv2d": ["NCHW4c", "OIHW4i4o", "NCHW2c"]}}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 4, 4, 4), dtype="float32"), w: R.Tensor((4, 4, 1, 1), dtype="float32")) -> R.Tensor((1, 4, 4, 4), dtype="float32"):
        with R.dataflow():
            lv = R.nn.conv2d(x, w)
            gv = R.nn.conv2d(lv, w)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 4, 4, 4), dtype="float32"), w: R.Tensor((4, 4, 1, 1), dtype="float32")) -> R.Tensor((1, 4, 4, 4), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 1, 4, 4, 4), dtype="float32") = R.layout_transform(x, index_map=T.index_map(lambda i0, i1, i2, i3: (i0, i1 // 4, i2, i3, i1 % 4), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_1: R.Tensor((1, 1, 1, 1, 4, 4), dtype="float32") = R.layout_transform(w, index_map=T.index_map(lambda i0_1, i1_1, i2_1, i3_1: (i0_1 // 4, i1_1 // 4, i2_1, i3_1, i1_1 % 4, i0_1 % 4), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_2: R.Tensor((1, 2, 4, 4, 2), dtype="float32") = R.nn.conv2d(lv, lv_1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW4c", kernel_layout="OIHW4i4o", out_layout="NCHW2c", out_dtype="void")
            lv_3: R.Tensor((1, 1, 4, 4, 4), dtype="float32") = R.layout_transform(lv_2, index_map=T.index_map(lambda i0_2, i1_2, i2_2, i3_2, i4: (i0_2, (i1_2 * 2 + i4) // 4, i2_2, i3_2, (i1_2 * 2 + i4) % 4), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_4: R.Tensor((1, 1, 1, 1, 4, 4), dtype="float32") = R.layout_transform(w, index_map=T.index_map(lambda i0_3, i1_3, i2_3, i3_3: (i0_3 // 4, i1_3 // 4, i2_3, i3_3, i1_3 % 4, i0_3 % 4), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_5: R.Tensor((1, 2, 4, 4, 2), dtype="float32") = R.nn.conv2d(lv_3, lv_4, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW4c", kernel_layout="OIHW4i4o", out_layout="NCHW2c", out_dtype="void")
            gv: R.Tensor((1, 4, 4, 4), dtype="float32") = R.layout_transform(lv_5, index_map=T.index_map(lambda i0_4, i1_4, i2_4, i3_4, i4_1: (i0_4, i1_4 * 2 + i4_1, i2_4, i3_4), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            R.output(gv)
        return gv
