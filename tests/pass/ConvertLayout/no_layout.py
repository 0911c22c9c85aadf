# SPDX-License-Identifier: Apache-2.0
# A block needs its axis.
# passes: ConvertLayout{desired_layouts={"relax.nn.conv2d": ["4cNHW", "OHWI"]}}
# error: must have a list of layouts such as
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((8, 4, 3, 3), dtype="float32")) -> R.Tensor((1, 8, 6, 6), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((1, 8, 6, 6), dtype="float32") = R.nn.conv2d(x, w)
            R.output(gv)
        return gv
