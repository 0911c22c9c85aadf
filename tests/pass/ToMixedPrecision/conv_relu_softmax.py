# SPDX-License-Identifier: Apache-2.0
# A convolution is in float16, relu follows it, softmax never is; a value that two convolutions use is converted once.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((4, 4, 1, 1), dtype="float32")) -> R.Tensor((1, 4, 8, 8), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 4, 8, 8), dtype="float32") = R.nn.conv2d(x, w)
            lv1: R.Tensor((1, 4, 8, 8), dtype="float32") = R.nn.relu(lv)
            lv2: R.Tensor((1, 4, 8, 8), dtype="float32") = R.nn.conv2d(lv1, w)
            gv: R.Tensor((1, 4, 8, 8), dtype="float32") = R.nn.softmax(lv2, axis=1)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((4, 4, 1, 1), dtype="float32")) -> R.Tensor((1, 4, 8, 8), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 4, 8, 8), dtype="float16") = R.astype(x, dtype="float16")
            lv_1: R.Tensor((4, 4, 1, 1), dtype="float16") = R.astype(w, dtype="float16")
            lv_2: R.Tensor((1, 4, 8, 8), dtype="float32") = R.nn.conv2d(lv, lv_1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="float32")
            lv_3: R.Tensor((1, 4, 8, 8), dtype="float16") = R.astype(lv_2, dtype="float16")
            lv1: R.Tensor((1, 4, 8, 8), dtype="float16") = R.nn.relu(lv_3)
            lv_4: R.Tensor((1, 4, 8, 8), dtype="float32") = R.nn.conv2d(lv1, lv_1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="float32")
            lv2: R.Tensor((1, 4, 8, 8), dtype="float16") = R.astype(lv_4, dtype="float16")
            lv_5: R.Tensor((1, 4, 8, 8), dtype="float32") = R.astype(lv2, dtype="float32")
            gv: R.Tensor((1, 4, 8, 8), dtype="float32") = R.nn.softmax(lv_5, axis=1)
            R.output(gv)
        return gv
