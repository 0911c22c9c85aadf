# SPDX-License-Identifier: Apache-2.0
# passes: ConvertLayout{desired_layouts={"relax.nn.conv2d": ["NHWC", "OHWI"]}}
# A function gets what it is called with as written, and its result keeps its type.
@I.ir_module
class Before:
    @R.function(private=True)
    def half(x: R.Tensor((1, 2, 4, 4), dtype="float32")) -> R.Tensor((1, 2, 4, 4), dtype="float16"):
        with R.dataflow():
            y = R.astype(x, dtype="float16")
            R.output(y)
        return y

    @R.function
    def main(x: R.Tensor((1, 3, 4, 4), dtype="float32"), w: R.Tensor((2, 3, 1, 1), dtype="float32")):
        with R.dataflow():
            y = R.nn.conv2d(x, w)
            h = Before.half(y)
            z = R.astype(h, dtype="float32")
            R.output(z)
        return z
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def half(x: R.Tensor((1, 2, 4, 4), dtype="float32")) -> R.Tensor((1, 2, 4, 4), dtype="float16"):
        with R.dataflow():
            y: R.Tensor((1, 2, 4, 4), dtype="float16") = R.astype(x, dtype="float16")
            R.output(y)
        return y

    @R.function
    def main(x: R.Tensor((1, 3, 4, 4), dtype="float32"), w: R.Tensor((2, 3, 1, 1), dtype="float32")) -> R.Tensor((1, 2, 4, 4), dtype="float32"):
        cls = Expected
        with R.dataflow():
            lv: R.Tensor((1, 4, 4, 3), dtype="float32") = R.permute_dims(x, axes=[0, 2, 3, 1])
            lv_1: R.Tensor((2, 1, 1, 3), dtype="float32") = R.permute_dims(w, axes=[0, 2, 3, 1])
            y: R.Tensor((1, 4, 4, 2), dtype="float32") = R.nn.conv2d(lv, lv_1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NHWC", kernel_layout="OHWI", out_layout="NHWC", out_dtype="void")
            lv_2: R.Tensor((1, 2, 4, 4), dtype="float32") = R.permute_dims(y, axes=[0, 3, 1, 2])
            h: R.Tensor((1, 2, 4, 4), dtype="float16") = cls.half(lv_2)
            z: R.Tensor((1, 2, 4, 4), dtype="float32") = R.astype(h, dtype="float32")
            R.output(z)
        return z
