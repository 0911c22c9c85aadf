# SPDX-License-Identifier: Apache-2.0
# 6 channels cannot be cut into blocks of 4: the convolution stays.
# passes: ConvertLayout{desired_layouts={"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]}}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 6, 8, 8), dtype="float32"), w: R.Tensor((8, 6, 3, 3), dtype="float32")) -> R.Tensor((1, 8, 6, 6), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((1, 8, 6, 6), dtype="float32") = R.nn.conv2d(x, w)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 6, 8, 8), dtype="float32"), w: R.Tensor((8, 6, 3, 3), dtype="float32")) -> R.Tensor((1, 8, 6, 6), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((1, 8, 6, 6), dtype="float32") = R.nn.conv2d(x, w, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="void")
            R.output(gv)
        return gv
