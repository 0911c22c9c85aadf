# SPDX-License-Identifier: Apache-2.0
# What follows a convolution keeps its layout: biases of lower rank, activations, pools; outputs are as written.
# passes: ConvertLayout{desired_layouts={"relax.nn.conv2d": ["NHWC", "OHWI"]}}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((8, 4, 3, 3), dtype="float32"), b: R.Tensor((8, 1, 1), dtype="float32"), s: R.Tensor((), dtype="float32")) -> R.Tensor((1, 8, 3, 3), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 8, 6, 6), dtype="float32") = R.nn.conv2d(x, w)
            lv1: R.Tensor((1, 8, 6, 6), dtype="float32") = R.multiply(lv, s)
            lv2: R.Tensor((1, 8, 6, 6), dtype="float32") = R.nn.relu(lv1)
            lv3: R.Tensor((1, 8, 3, 3), dtype="float32") = R.nn.max_pool2d(lv2, pool_size=[2, 2], strides=[2, 2])
            gv: R.Tensor((1, 8, 3, 3), dtype="float32") = R.add(lv3, b)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((8, 4, 3, 3), dtype="float32"), b: R.Tensor((8, 1, 1), dtype="float32"), s: R.Tensor((), dtype="float32")) -> R.Tensor((1, 8, 3, 3), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 8, 8, 4), dtype="float32") = R.permute_dims(x, axes=[0, 2, 3, 1])
            lv_1: R.Tensor((8, 3, 3, 4), dtype="float32") = R.permute_dims(w, axes=[0, 2, 3, 1])
            lv_2: R.Tensor((1, 6, 6, 8), dtype="float32") = R.nn.conv2d(lv, lv_1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NHWC", kernel_layout="OHWI", out_layout="NHWC", out_dtype="void")
            lv1: R.Tensor((1, 6, 6, 8), dtype="float32") = R.multiply(lv_2, s)
            lv2: R.Tensor((1, 6, 6, 8), dtype="float32") = R.nn.relu(lv1)
            lv3: R.Tensor((1, 3, 3, 8), dtype="float32") = R.nn.max_pool2d(lv2, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0], dilation=[1, 1], ceil_mode=False, count_include_pad=False, layout="NHWC", out_layout="NHWC")
            lv_3: R.Tensor((1, 8, 3, 3), dtype="float32") = R.permute_dims(lv3, axes=[0, 3, 1, 2])
            gv: R.Tensor((1, 8, 3, 3), dtype="float32") = R.add(lv_3, b)
            R.output(gv)
        return gv
