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
