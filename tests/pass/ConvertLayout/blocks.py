# SPDX-License-Identifier: Apache-2.0
# Layouts with blocks are made by layout_transform; a softmax along the blocked axis has it whole again.
# passes: ConvertLayout{desired_layouts={"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]}}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((8, 4, 3, 3), dtype="float32"), b: R.Tensor((1, 8, 1, 1), dtype="float32")) -> R.Tensor((1, 8, 6, 6), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 8, 6, 6), dtype="float32") = R.nn.conv2d(x, w)
            lv1: R.Tensor((1, 8, 6, 6), dtype="float32") = R.add(lv, b)
            gv: R.Tensor((1, 8, 6, 6), dtype="float32") = R.nn.softmax(lv1, axis=1)
            R.output(gv)
        return gv
