# SPDX-License-Identifier: Apache-2.0
# A normalization, a product and a sum behind it go into the convolution: 2 / sqrt(3 + 1) * 3 = 3 times the kernel.
# The constants of the product stand behind expand_dims; a grouped convolution with a sum alone stays.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 1, 2, 2), dtype="float32")) -> R.Tensor((1, 2, 2, 2), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 2, 2, 2), dtype="float32") = R.nn.conv2d(x, R.const([[[[1.0]]], [[[2.0]]]], "float32"))
            lv1 = R.nn.batch_norm(lv, R.const([2.0, 1.0], "float32"), R.const([0.5, 0.25], "float32"), R.const([1.0, 2.0], "float32"), R.const([3.0, 0.0], "float32"), axis=1, epsilon=1.0, training=False)
            lv2: R.Tensor((1, 2, 2, 2), dtype="float32") = lv1[0]
            lv3 = R.expand_dims(R.const([3.0, 0.5], "float32"), axis=[1, 2])
            lv4 = R.multiply(lv2, lv3)
            lv5 = R.add(R.const([[[[1.0]], [[2.0]]]], "float32"), lv4)
            lv6 = R.nn.conv2d(lv5, R.const([[[[1.0]]], [[[2.0]]]], "float32"), groups=2)
            gv = R.add(lv6, R.const([[[[1.0]], [[2.0]]]], "float32"))
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 1, 2, 2), dtype="float32")) -> R.Tensor((1, 2, 2, 2), dtype="float32"):
        with R.dataflow():
            lv3: R.Tensor((2, 1, 1), dtype="float32") = R.expand_dims(R.const([3.0, 0.5], "float32"), axis=[1, 2])
            lv: R.Tensor((1, 2, 2, 2), dtype="float32") = R.nn.conv2d(x, R.const([[[[3.0]]], [[[1.0]]]], "float32"), strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="void")
            lv5: R.Tensor((1, 2, 2, 2), dtype="float32") = R.add(lv, R.const([[[[-0.5]], [[1.125]]]], "float32"))
            lv6: R.Tensor((1, 2, 2, 2), dtype="float32") = R.nn.conv2d(lv5, R.const([[[[1.0]]], [[[2.0]]]], "float32"), strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=2, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="void")
            gv: R.Tensor((1, 2, 2, 2), dtype="float32") = R.add(lv6, R.const([[[[1.0]], [[2.0]]]], "float32"))
            R.output(gv)
        return gv
