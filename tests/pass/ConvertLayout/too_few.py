# SPDX-License-Identifier: Apache-2.0
# Data and kernel both need a layout.
# passes: ConvertLayout{desired_layouts={"relax.nn.conv2d": ["NHWC"]}}
# error: 1 layouts are asked for nn.conv2d, expected those of data and kernel
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((8, 4, 3, 3), dtype="float32")) -> R.Tensor((1, 8, 6, 6), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((1, 8, 6, 6), dtype="float32") = R.nn.conv2d(x, w)
            R.output(gv)
        return gv
