# SPDX-License-Identifier: Apache-2.0
# The option is a dictionary.
# passes: ConvertLayout{desired_layouts=3}
# error: option desired_layouts must be
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((8, 4, 3, 3), dtype="float32")) -> R.Tensor((1, 8, 6, 6), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((1, 8, 6, 6), dtype="float32") = R.nn.conv2d(x, w)
            R.output(gv)
        return gv
