# SPDX-License-Identifier: Apache-2.0
# Colours stay as they are; then blocks of 8 through bias, depthwise and pooling, and of 4 for twelve channels.
# target: cpu
# passes: BlockLayouts
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 3, 10, 10), dtype="float32")) -> R.Tensor((1, 12, 4, 4), dtype="float32"):
        with R.dataflow():
            w = R.full((16, 3, 3, 3), R.const(0.5, "float32"), dtype="float32")
            w1 = R.full((16, 1, 1, 1), R.const(0.25, "float32"), dtype="float32")
            w2 = R.full((12, 16, 1, 1), R.const(2.0, "float32"), dtype="float32")
            b = R.full((1, 16, 1, 1), R.const(1.0, "float32"), dtype="float32")
            lv = R.nn.conv2d(x, w)
            lv1 = R.add(lv, b)
            lv2 = R.nn.conv2d(lv1, w1, groups=16)
            lv3 = R.nn.max_pool2d(lv2, pool_size=[2, 2], strides=[2, 2])
            gv = R.nn.conv2d(lv3, w2)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 3, 10, 10), dtype="float32")) -> R.Tensor((1, 12, 4, 4), dtype="float32"):
        with R.dataflow():
            w: R.Tensor((16, 3, 3, 3), dtype="float32") = R.full(R.shape([16, 3, 3, 3]), R.const(0.5, "float32"), dtype="float32")
            w1: R.Tensor((16, 1, 1, 1), dtype="float32") = R.full(R.shape([16, 1, 1, 1]), R.const(0.25, "float32"), dtype="float32")
            w2: R.Tensor((12, 16, 1, 1), dtype="float32") = R.full(R.shape([12, 16, 1, 1]), R.const(2.0, "float32"), dtype="float32")
            b: R.Tensor((1, 16, 1, 1), dtype="float32") = R.full(R.shape([1, 16, 1, 1]), R.const(1.0, "float32"), dtype="float32")
            lv: R.Tensor((2, 3, 3, 3, 8), dtype="float32") = R.layout_transform(w, index_map=T.index_map(lambda i0, i1, i2, i3: (i0 // 8, i1, i2, i3, i0 % 8), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_1: R.Tensor((1, 2, 8, 8, 8), dtype="float32") = R.nn.conv2d(x, lv, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW8o", out_layout="NCHW8c", out_dtype="void")
            lv_2: R.Tensor((1, 2, 1, 1, 8), dtype="float32") = R.layout_transform(b, index_map=T.index_map(lambda i0_1, i1_1, i2_1, i3_1: (i0_1, i1_1 // 8, i2_1, i3_1, i1_1 % 8), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv1: R.Tensor((1, 2, 8, 8, 8), dtype="float32") = R.add(lv_1, lv_2)
            lv_3: R.Tensor((2, 1, 1, 1, 8), dtype="float32") = R.layout_transform(w1, index_map=T.index_map(lambda i0_2, i1_2, i2_2, i3_2: (i0_2 // 8, i1_2, i2_2, i3_2, i0_2 % 8), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv2: R.Tensor((1, 2, 8, 8, 8), dtype="float32") = R.nn.conv2d(lv1, lv_3, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=16, data_layout="NCHW8c", kernel_layout="OIHW8o", out_layout="NCHW8c", out_dtype="void")
            lv3: R.Tensor((1, 2, 4, 4, 8), dtype="float32") = R.nn.max_pool2d(lv2, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0], dilation=[1, 1], ceil_mode=False, count_include_pad=False, layout="NCHW8c", out_layout="NCHW8c")
            lv_4: R.Tensor((1, 16, 4, 4), dtype="float32") = R.layout_transform(lv3, index_map=T.index_map(lambda i0_3, i1_3, i2_3, i3_3, i4: (i0_3, i1_3 * 8 + i4, i2_3, i3_3), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            gv: R.Tensor((1, 12, 4, 4), dtype="float32") = R.nn.conv2d(lv_4, w2, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="void")
            R.output(gv)
        return gv
