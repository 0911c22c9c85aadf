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
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((8, 4, 3, 3), dtype="float32"), y: R.Tensor(dtype="float32")) -> R.Tensor(dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 8, 8, 4), dtype="float32") = R.permute_dims(x, axes=[0, 2, 3, 1])
            lv_1: R.Tensor((8, 3, 3, 4), dtype="float32") = R.permute_dims(w, axes=[0, 2, 3, 1])
            lv_2: R.Tensor((1, 6, 6, 8), dtype="float32") = R.nn.conv2d(lv, lv_1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NHWC", kernel_layout="OHWI", out_layout="NHWC", out_dtype="void")
            n = T.int64()
            lv1 = R.match_cast(lv_2, R.Tensor((n, 6, 6, 8), dtype="float32"))
            lv2: R.Tensor((n, 6, 6, 8), dtype="float32") = R.exp(lv1)
            lv_3: R.Tensor((n, 8, 6, 6), dtype="float32") = R.permute_dims(lv2, axes=[0, 3, 1, 2])
            gv: R.Tensor(dtype="float32") = R.add(lv_3, y)
            R.output(gv)
        return gv
