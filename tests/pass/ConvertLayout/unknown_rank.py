# SPDX-License-Identifier: Apache-2.0
# A tensor of unknown rank has everything of its operator as written; a match_cast keeps the layout.
# passes: ConvertLayout{desired_layouts={"relax.nn.conv2d": ["NHWC", "OHWI"]}}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((8, 4, 3, 3), dtype="float32"), y: R.Tensor(dtype="float32")) -> R.Tensor(dtype="float32"):
        n = T.int64()
        with R.dataflow():
            lv: R.Tensor((1, 8, 6, 6), dtype="float32") = R.nn.conv2d(x, w)
            lv1 = R.match_cast(lv, R.Tensor((n, 8, 6, 6), dtype="float32"))
            lv2: R.Tensor((n, 8, 6, 6), dtype="float32") = R.exp(lv1)
            gv: R.Tensor(dtype="float32") = R.add(lv2, y)
            R.output(gv)
        return gv
