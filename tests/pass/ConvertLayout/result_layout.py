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
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((8, 4, 3, 3), dtype="float32"), w2: R.Tensor((8, 2, 2, 2), dtype="float32")) -> R.Tensor((1, 2, 13, 13), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 8, 8, 4), dtype="float32") = R.permute_dims(x, axes=[0, 2, 3, 1])
            lv_1: R.Tensor((8, 3, 3, 4), dtype="float32") = R.permute_dims(w, axes=[0, 2, 3, 1])
            lv_2: R.Tensor((1, 8, 6, 6), dtype="float32") = R.nn.conv2d(lv, lv_1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NHWC", kernel_layout="OHWI", out_layout="NCHW", out_dtype="void")
            lv_3: R.Tensor((1, 6, 6, 8), dtype="float32") = R.permute_dims(lv_2, axes=[0, 2, 3, 1])
            lv1: R.Tensor((1, 12, 12, 8), dtype="float32") = R.image.resize2d(lv_3, R.shape([12, 12]), roi=[0.0, 0.0, 0.0, 0.0], layout="NHWC", method="linear", coordinate_transformation_mode="half_pixel", rounding_method="round", cubic_alpha=-0.75, cubic_exclude=0, extrapolation_value=0.0, scales=None, antialias=False, out_dtype="void")
            lv_4: R.Tensor((2, 2, 2, 8), dtype="float32") = R.permute_dims(w2, axes=[2, 3, 1, 0])
            lv_5: R.Tensor((1, 13, 13, 2), dtype="float32") = R.nn.conv2d_transpose(lv1, lv_4, strides=[1, 1], padding=[0, 0, 0, 0], output_padding=[0, 0], dilation=[1, 1], groups=1, data_layout="NHWC", kernel_layout="HWOI", out_layout="NHWC", out_dtype="void")
            gv: R.Tensor((1, 2, 13, 13), dtype="float32") = R.permute_dims(lv_5, axes=[0, 3, 1, 2])
            R.output(gv)
        return gv
