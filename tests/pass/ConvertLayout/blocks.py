# SPDX-License-Identifier: Apache-2.0
# Layouts with blocks are made by layout_transform; a softmax along the blocked axis has it whole again.
# passes: ConvertLayout{desired_layouts={"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]}}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((8, 4, 3, 3), dtype="float32"), b: R.Tensor((1, 8, 1, 1), dtype="float32")) -> R.Tensor((1, 8, 6, 6), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 8, 6, 6), dtype="float32") = R.nn.conv2d(x, w)
            lv1: R.Tensor((1, 8, 6, 6), dtype="float32") = R.add(lv, b)
            gv: R.Tensor((1, 8, 6, 6), dtype="float32") = R.nn.softmax(lv1, axis=1)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((8, 4, 3, 3), dtype="float32"), b: R.Tensor((1, 8, 1, 1), dtype="float32")) -> R.Tensor((1, 8, 6, 6), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 1, 8, 8, 4), dtype="float32") = R.layout_transform(x, index_map=T.index_map(lambda i0, i1, i2, i3: (i0, i1 // 4, i2, i3, i1 % 4), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_1: R.Tensor((2, 4, 3, 3, 4), dtype="float32") = R.layout_transform(w, index_map=T.index_map(lambda i0_1, i1_1, i2_1, i3_1: (i0_1 // 4, i1_1, i2_1, i3_1, i0_1 % 4), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_2: R.Tensor((1, 2, 6, 6, 4), dtype="float32") = R.nn.conv2d(lv, lv_1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW4c", kernel_layout="OIHW4o", out_layout="NCHW4c", out_dtype="void")
            lv_3: R.Tensor((1, 2, 1, 1, 4), dtype="float32") = R.layout_transform(b, index_map=T.index_map(lambda i0_2, i1_2, i2_2, i3_2: (i0_2, i1_2 // 4, i2_2, i3_2, i1_2 % 4), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv1: R.Tensor((1, 2, 6, 6, 4), dtype="float32") = R.add(lv_2, lv_3)
            lv_4: R.Tensor((1, 8, 6, 6), dtype="float32") = R.layout_transform(lv1, index_map=T.index_map(lambda i0_3, i1_3, i2_3, i3_3, i4: (i0_3, i1_3 * 4 + i4, i2_3, i3_3), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            gv: R.Tensor((1, 8, 6, 6), dtype="float32") = R.nn.softmax(lv_4, axis=1)
            R.output(gv)
        return gv
