# SPDX-License-Identifier: Apache-2.0
# A kernel that comes in would be laid out anew in every run; five channels make no blocks; integers and quantized
# kernels stay.
# target: cpu
# passes: BlockLayouts
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 8, 4, 4), dtype="float32"), w: R.Tensor((8, 8, 1, 1), dtype="float32"), y: R.Tensor((1, 8, 4, 4), dtype="int32")):
        with R.dataflow():
            w1 = R.full((5, 8, 1, 1), R.const(0.5, "float32"), dtype="float32")
            w2 = R.full((8, 8, 1, 1), R.const(1, "int32"), dtype="int32")
            lv = R.nn.conv2d(x, w)
            lv1 = R.nn.conv2d(lv, w1)
            lv2 = R.nn.conv2d(y, w2)
            w4 = R.dequantize(R.full((8, 8, 1, 1), R.const(3, "int8"), dtype="int8"), R.const(0.5, "float32"), R.const(0, "int8"), axis=-1)
            lv4 = R.nn.conv2d(x, w4)
            gv = (lv1, lv2, lv4)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 8, 4, 4), dtype="float32"), w: R.Tensor((8, 8, 1, 1), dtype="float32"), y: R.Tensor((1, 8, 4, 4), dtype="int32")) -> R.Tuple(R.Tensor((1, 5, 4, 4), dtype="float32"), R.Tensor((1, 8, 4, 4), dtype="int32"), R.Tensor((1, 8, 4, 4), dtype="float32")):
        with R.dataflow():
            w1: R.Tensor((5, 8, 1, 1), dtype="float32") = R.full(R.shape([5, 8, 1, 1]), R.const(0.5, "float32"), dtype="float32")
            w2: R.Tensor((8, 8, 1, 1), dtype="int32") = R.full(R.shape([8, 8, 1, 1]), R.const(1, "int32"), dtype="int32")
            lv: R.Tensor((1, 8, 4, 4), dtype="float32") = R.nn.conv2d(x, w, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="void")
            lv1: R.Tensor((1, 5, 4, 4), dtype="float32") = R.nn.conv2d(lv, w1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="void")
            lv2: R.Tensor((1, 8, 4, 4), dtype="int32") = R.nn.conv2d(y, w2, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="void")
            lv_1: R.Tensor((8, 8, 1, 1), dtype="int8") = R.full(R.shape([8, 8, 1, 1]), R.const(3, "int8"), dtype="int8")
            w4: R.Tensor((8, 8, 1, 1), dtype="float32") = R.dequantize(lv_1, R.const(0.5, "float32"), R.const(0, "int8"), axis=-1, out_dtype="float32")
            lv4: R.Tensor((1, 8, 4, 4), dtype="float32") = R.nn.conv2d(x, w4, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="void")
            gv: R.Tuple(R.Tensor((1, 5, 4, 4), dtype="float32"), R.Tensor((1, 8, 4, 4), dtype="int32"), R.Tensor((1, 8, 4, 4), dtype="float32")) = (lv1, lv2, lv4)
            R.output(gv)
        return gv
