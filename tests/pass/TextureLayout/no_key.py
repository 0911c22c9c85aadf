# SPDX-License-Identifier: Apache-2.0
# A target without the key texture: nothing happens.
# target: opencl
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 8, 4, 4), "float32"), w: R.Tensor((4, 8, 3, 3), "float32"), v: R.Tensor((3, 4, 1, 1), "float32")):
        with R.dataflow():
            lv = R.nn.conv2d(x, w)
            lv1 = R.nn.relu(lv)
            gv = R.nn.conv2d(lv1, v)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 8, 4, 4), dtype="float32"), w: R.Tensor((4, 8, 3, 3), dtype="float32"), v: R.Tensor((3, 4, 1, 1), dtype="float32")) -> R.Tensor((1, 3, 2, 2), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 4, 2, 2), dtype="float32") = R.nn.conv2d(x, w, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="void")
            lv1: R.Tensor((1, 4, 2, 2), dtype="float32") = R.nn.relu(lv)
            gv: R.Tensor((1, 3, 2, 2), dtype="float32") = R.nn.conv2d(lv1, v, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="void")
            R.output(gv)
        return gv
