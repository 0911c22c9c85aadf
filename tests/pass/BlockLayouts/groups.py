# SPDX-License-Identifier: Apache-2.0
# Groups as wide as a block are laid out in blocks, narrower ones stay.
# target: cpu
# passes: BlockLayouts
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 16, 4, 4), dtype="float32")) -> R.Tensor((1, 16, 4, 4), dtype="float32"):
        with R.dataflow():
            w = R.full((16, 8, 1, 1), R.const(0.5, "float32"), dtype="float32")
            w1 = R.full((16, 2, 1, 1), R.const(0.5, "float32"), dtype="float32")
            lv = R.nn.conv2d(x, w, groups=2)
            gv = R.nn.conv2d(lv, w1, groups=8)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 16, 4, 4), dtype="float32")) -> R.Tensor((1, 16, 4, 4), dtype="float32"):
        with R.dataflow():
            w: R.Tensor((16, 8, 1, 1), dtype="float32") = R.full(R.shape([16, 8, 1, 1]), R.const(0.5, "float32"), dtype="float32")
            w1: R.Tensor((16, 2, 1, 1), dtype="float32") = R.full(R.shape([16, 2, 1, 1]), R.const(0.5, "float32"), dtype="float32")
            lv: R.Tensor((1, 2, 4, 4, 8), dtype="float32") = R.layout_transform(x, index_map=T.index_map(lambda i0, i1, i2, i3: (i0, i1 // 8, i2, i3, i1 % 8), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_1: R.Tensor((2, 1, 1, 1, 8, 8), dtype="float32") = R.layout_transform(w, index_map=T.index_map(lambda i0_1, i1_1, i2_1, i3_1: (i0_1 // 8, i1_1 // 8, i2_1, i3_1, i1_1 % 8, i0_1 % 8), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_2: R.Tensor((1, 2, 4, 4, 8), dtype="float32") = R.nn.conv2d(lv, lv_1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=2, data_layout="NCHW8c", kernel_layout="OIHW8i8o", out_layout="NCHW8c", out_dtype="void")
            lv_3: R.Tensor((1, 16, 4, 4), dtype="float32") = R.layout_transform(lv_2, index_map=T.index_map(lambda i0_2, i1_2, i2_2, i3_2, i4: (i0_2, i1_2 * 8 + i4, i2_2, i3_2), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            gv: R.Tensor((1, 16, 4, 4), dtype="float32") = R.nn.conv2d(lv_3, w1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=8, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="void")
            R.output(gv)
        return gv
