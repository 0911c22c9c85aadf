# SPDX-License-Identifier: Apache-2.0
# Convolutions work on blocks of four channels, and so does what follows; three channels make no blocks.
# target: {"kind": "opencl", "keys": ["adreno", "opencl", "gpu", "texture"]}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 8, 4, 4), "float32"), w: R.Tensor((4, 8, 3, 3), "float32"), v: R.Tensor((3, 4, 1, 1), "float32")):
        with R.dataflow():
            lv = R.nn.conv2d(x, w)
            lv1 = R.nn.relu(lv)
            gv = R.nn.conv2d(lv1, v)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 8, 4, 4), dtype="float32"), w: R.Tensor((4, 8, 3, 3), dtype="float32"), v: R.Tensor((3, 4, 1, 1), dtype="float32")) -> R.Tensor((1, 3, 2, 2), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 2, 4, 4, 4), dtype="float32") = R.layout_transform(x, index_map=T.index_map(lambda i0, i1, i2, i3: (i0, i1 // 4, i2, i3, i1 % 4), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_1: R.Tensor((1, 8, 3, 3, 4), dtype="float32") = R.layout_transform(w, index_map=T.index_map(lambda i0_1, i1_1, i2_1, i3_1: (i0_1 // 4, i1_1, i2_1, i3_1, i0_1 % 4), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            lv_2: R.Tensor((1, 1, 2, 2, 4), dtype="float32") = R.nn.conv2d(lv, lv_1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW4c", kernel_layout="OIHW4o", out_layout="NCHW4c", out_dtype="void")
            lv1: R.Tensor((1, 1, 2, 2, 4), dtype="float32") = R.nn.relu(lv_2)
            lv_3: R.Tensor((1, 4, 2, 2), dtype="float32") = R.layout_transform(lv1, index_map=T.index_map(lambda i0_2, i1_2, i2_2, i3_2, i4: (i0_2, i1_2 * 4 + i4, i2_2, i3_2), index_dtype="int32"), pad_value=None, axis_separators=None, input_axis_separators=None)
            gv: R.Tensor((1, 3, 2, 2), dtype="float32") = R.nn.conv2d(lv_3, v, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="void")
            R.output(gv)
        return gv
