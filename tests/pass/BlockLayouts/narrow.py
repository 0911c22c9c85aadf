# SPDX-License-Identifier: Apache-2.0
# Vectors of 16 lanes, channels in eights: blocks of 8, on both sides of what Winograd's algorithm computes (k3); few channels and rows
# of whole vectors stay as they are (rows).
# target: {"kind": "llvm", "mcpu": "x86-64-v4"}
# passes: BlockLayouts
@I.ir_module
class Before:
    @R.function
    def k3(x: R.Tensor((1, 32, 14, 14), dtype="float32")):
        with R.dataflow():
            k = R.full((24, 32, 3, 3), R.const(0.5, "float32"), dtype="float32")
            gv = R.nn.conv2d(x, k, padding=[1, 1])
            R.output(gv)
        return gv
    @R.function
    def k1(x: R.Tensor((1, 32, 14, 14), dtype="float32")):
        with R.dataflow():
            k = R.full((24, 32, 1, 1), R.const(0.5, "float32"), dtype="float32")
            gv = R.nn.conv2d(x, k)
            R.output(gv)
        return gv
    @R.function
    def rows(x: R.Tensor((1, 8, 14, 32), dtype="float32")):
        with R.dataflow():
            k = R.full((24, 8, 3, 3), R.const(0.5, "float32"), dtype="float32")
            gv = R.nn.conv2d(x, k, padding=[1, 1])
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def k1(x: R.Tensor((1, 32, 14, 14), dtype="float32")) -> R.Tensor((1, 24, 14, 14), dtype="float32"):
        with R.dataflow():
            k: R.Tensor((24, 32, 1, 1), dtype="float32") = R.full(R.shape([24, 32, 1, 1]), R.const(0.5, "float32"), dtype="float32")
            lv: R.Tensor((1, 2, 14, 14, 16), dtype="float32") = R.layout_transform(x, index_map=T.index_map(lambda i0, i1, i2, i3: (i0, i1 // 16, i2, i3, i1 % 16), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_1: R.Tensor((3, 2, 1, 1, 16, 8), dtype="float32") = R.layout_transform(k, index_map=T.index_map(lambda i0_1, i1_1, i2_1, i3_1: (i0_1 // 8, i1_1 // 16, i2_1, i3_1, i1_1 % 16, i0_1 % 8), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_2: R.Tensor((1, 3, 14, 14, 8), dtype="float32") = R.nn.conv2d(lv, lv_1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW16c", kernel_layout="OIHW16i8o", out_layout="NCHW8c", out_dtype=None)
            gv: R.Tensor((1, 24, 14, 14), dtype="float32") = R.layout_transform(lv_2, index_map=T.index_map(lambda i0_2, i1_2, i2_2, i3_2, i4: (i0_2, i1_2 * 8 + i4, i2_2, i3_2), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            R.output(gv)
        return gv

    @R.function
    def k3(x: R.Tensor((1, 32, 14, 14), dtype="float32")) -> R.Tensor((1, 24, 14, 14), dtype="float32"):
        with R.dataflow():
            k: R.Tensor((24, 32, 3, 3), dtype="float32") = R.full(R.shape([24, 32, 3, 3]), R.const(0.5, "float32"), dtype="float32")
            lv: R.Tensor((1, 4, 14, 14, 8), dtype="float32") = R.layout_transform(x, index_map=T.index_map(lambda i0, i1, i2, i3: (i0, i1 // 8, i2, i3, i1 % 8), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_1: R.Tensor((3, 4, 3, 3, 8, 8), dtype="float32") = R.layout_transform(k, index_map=T.index_map(lambda i0_1, i1_1, i2_1, i3_1: (i0_1 // 8, i1_1 // 8, i2_1, i3_1, i1_1 % 8, i0_1 % 8), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_2: R.Tensor((1, 3, 14, 14, 8), dtype="float32") = R.nn.conv2d(lv, lv_1, strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=1, data_layout="NCHW8c", kernel_layout="OIHW8i8o", out_layout="NCHW8c", out_dtype=None)
            gv: R.Tensor((1, 24, 14, 14), dtype="float32") = R.layout_transform(lv_2, index_map=T.index_map(lambda i0_2, i1_2, i2_2, i3_2, i4: (i0_2, i1_2 * 8 + i4, i2_2, i3_2), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            R.output(gv)
        return gv

    @R.function
    def rows(x: R.Tensor((1, 8, 14, 32), dtype="float32")) -> R.Tensor((1, 24, 14, 32), dtype="float32"):
        with R.dataflow():
            k: R.Tensor((24, 8, 3, 3), dtype="float32") = R.full(R.shape([24, 8, 3, 3]), R.const(0.5, "float32"), dtype="float32")
            gv: R.Tensor((1, 24, 14, 32), dtype="float32") = R.nn.conv2d(x, k, strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            R.output(gv)
        return gv
