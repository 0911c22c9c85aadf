# SPDX-License-Identifier: Apache-2.0
# Images of any size.
# target: cpu
# passes: BlockLayouts
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 8, "h", "w"), dtype="float32")):
        with R.dataflow():
            k = R.full((8, 8, 1, 1), R.const(0.5, "float32"), dtype="float32")
            gv = R.nn.conv2d(x, k)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 8, "h", "w"), dtype="float32")) -> R.Tensor((1, 8, "h", "w"), dtype="float32"):
        h = T.int64()
        w = T.int64()
        with R.dataflow():
            k: R.Tensor((8, 8, 1, 1), dtype="float32") = R.full(R.shape([8, 8, 1, 1]), R.const(0.5, "float32"), dtype="float32")
            lv: R.Tensor((1, 1, h, w, 8), dtype="float32") = R.layout_transform(x, index_map=T.index_map(lambda i0, i1, i2, i3: (i0, i1 // 8, i2, i3, i1 % 8), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_1: R.Tensor((1, 1, 1, 1, 8, 8), dtype="float32") = R.layout_transform(k, index_map=T.index_map(lambda i0_1, i1_1, i2_1, i3_1: (i0_1 // 8, i1_1 // 8, i2_1, i3_1, i1_1 % 8, i0_1 % 8), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_2: R.Tensor((1, 1, h, w, 8), dtype="float32") = R.nn.conv2d(lv, lv_1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW8c", kernel_layout="OIHW8i8o", out_layout="NCHW8c", out_dtype="void")
            gv: R.Tensor((1, 8, h, w), dtype="float32") = R.layout_transform(lv_2, index_map=T.index_map(lambda i0_2, i1_2, i2_2, i3_2, i4: (i0_2, i1_2 * 8 + i4, i2_2, i3_2), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            R.output(gv)
        return gv
