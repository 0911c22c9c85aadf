# SPDX-License-Identifier: Apache-2.0
# Convolutions along one axis are laid out in blocks as well.
# target: cpu
# passes: BlockLayouts
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 8, 30), dtype="float32")) -> R.Tensor((1, 16, 15), dtype="float32"):
        with R.dataflow():
            w = R.full((16, 8, 3), R.const(0.5, "float32"), dtype="float32")
            lv = R.nn.conv1d(x, w, strides=[2], padding=[1, 1])
            gv = R.nn.relu(lv)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 8, 30), dtype="float32")) -> R.Tensor((1, 16, 15), dtype="float32"):
        with R.dataflow():
            w: R.Tensor((16, 8, 3), dtype="float32") = R.full(R.shape([16, 8, 3]), R.const(0.5, "float32"), dtype="float32")
            lv: R.Tensor((1, 1, 30, 8), dtype="float32") = R.layout_transform(x, index_map=T.index_map(lambda i0, i1, i2: (i0, i1 // 8, i2, i1 % 8), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_1: R.Tensor((2, 1, 3, 8, 8), dtype="float32") = R.layout_transform(w, index_map=T.index_map(lambda i0_1, i1_1, i2_1: (i0_1 // 8, i1_1 // 8, i2_1, i1_1 % 8, i0_1 % 8), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_2: R.Tensor((1, 2, 15, 8), dtype="float32") = R.nn.conv1d(lv, lv_1, strides=[2], padding=[1, 1], dilation=[1], groups=1, data_layout="NCW8c", kernel_layout="OIW8i8o", out_layout="NCW8c", out_dtype=None)
            lv_3: R.Tensor((1, 2, 15, 8), dtype="float32") = R.nn.relu(lv_2)
            gv: R.Tensor((1, 16, 15), dtype="float32") = R.layout_transform(lv_3, index_map=T.index_map(lambda i0_2, i1_2, i2_2, i3: (i0_2, i1_2 * 8 + i3, i2_2), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            R.output(gv)
        return gv
