# SPDX-License-Identifier: Apache-2.0
# Half precision, layouts that are not oneDNN's, extents computed from others and functions of arithmetic alone stay.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 4, "h", 6), "float32"), w: R.Tensor((8, 4, 3, 3), "float32"), a: R.Tensor((3, 4), "float16"), b: R.Tensor((4, 5), "float16")):
        h = T.int64()
        with R.dataflow():
            lv = R.nn.conv2d(x, w)
            lv1 = R.matmul(a, b)
            lv2 = R.multiply(lv, lv)
            lv3 = R.nn.relu(lv2)
            gv = (lv3, lv1)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 4, "h", 6), dtype="float32"), w: R.Tensor((8, 4, 3, 3), dtype="float32"), a: R.Tensor((3, 4), dtype="float16"), b: R.Tensor((4, 5), dtype="float16")) -> R.Tuple(R.Tensor((1, 8, "h - 2", 4), dtype="float32"), R.Tensor((3, 5), dtype="float16")):
        h = T.int64()
        with R.dataflow():
            lv: R.Tensor((1, 8, h - 2, 4), dtype="float32") = R.nn.conv2d(x, w, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="void")
            lv1: R.Tensor((3, 5), dtype="float16") = R.matmul(a, b, out_dtype="void")
            lv2: R.Tensor((1, 8, h - 2, 4), dtype="float32") = R.multiply(lv, lv)
            lv3: R.Tensor((1, 8, h - 2, 4), dtype="float32") = R.nn.relu(lv2)
            gv: R.Tuple(R.Tensor((1, 8, h - 2, 4), dtype="float32"), R.Tensor((3, 5), dtype="float16")) = (lv3, lv1)
            R.output(gv)
        return gv
