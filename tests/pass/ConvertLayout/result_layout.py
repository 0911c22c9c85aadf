# SPDX-License-Identifier: Apache-2.0
# A third layout is that of the result; transposed convolutions and resizing can be asked too.
# passes: ConvertLayout{desired_layouts={"relax.nn.conv2d": ["NHWC", "OHWI", "NCHW"], "relax.image.resize2d": ["NHWC"], "relax.nn.conv2d_transpose": ["NHWC", "HWOI"]}}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((8, 4, 3, 3), dtype="float32"), w2: R.Tensor((8, 2, 2, 2), dtype="float32")) -> R.Tensor((1, 2, 13, 13), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 8, 6, 6), dtype="float32") = R.nn.conv2d(x, w)
            lv1: R.Tensor((1, 8, 12, 12), dtype="float32") = R.image.resize2d(lv, R.shape([12, 12]))
            gv: R.Tensor((1, 2, 13, 13), dtype="float32") = R.nn.conv2d_transpose(lv1, w2)
            R.output(gv)
        return gv
