# SPDX-License-Identifier: Apache-2.0
# Without a convolution that only it reads: one product, one sum; a mere product and sum stay.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 2, 2), dtype="float32")) -> R.Tuple(R.Tensor(("n", 2, 2), dtype="float32"), R.Tensor(("n", 2, 2), dtype="float32")):
        n = T.int64()
        with R.dataflow():
            lv: R.Tensor((n, 2, 2), dtype="float32") = R.nn.conv1d(x, R.const([[[1.0], [0.5]], [[2.0], [1.5]]], "float32"))
            lv1 = R.nn.batch_norm(lv, R.const([2.0, 1.0], "float32"), R.const([0.5, 0.25], "float32"), R.const([1.0, 2.0], "float32"), R.const([3.0, 0.0], "float32"), axis=1, epsilon=1.0, training=False)
            lv2: R.Tensor((n, 2, 2), dtype="float32") = lv1[0]
            lv3 = R.multiply(lv, R.const(2.0, "float32"))
            lv4 = R.add(lv3, R.const([[1.0], [2.0]], "float32"))
            gv = (lv2, lv4)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(("n", 2, 2), dtype="float32")) -> R.Tuple(R.Tensor(("n", 2, 2), dtype="float32"), R.Tensor(("n", 2, 2), dtype="float32")):
        n = T.int64()
        with R.dataflow():
            lv: R.Tensor((n, 2, 2), dtype="float32") = R.nn.conv1d(x, R.const([[[1.0], [0.5]], [[2.0], [1.5]]], "float32"), strides=[1], padding=[0, 0], dilation=[1], groups=1, data_layout="NCW", kernel_layout="OIW", out_layout="NCW", out_dtype="void")
            lv_1: R.Tensor((n, 2, 2), dtype="float32") = R.multiply(lv, R.const([[[1.0], [1.0]]], "float32"))
            lv2: R.Tensor((n, 2, 2), dtype="float32") = R.add(lv_1, R.const([[[-0.5], [-1.75]]], "float32"))
            lv3: R.Tensor((n, 2, 2), dtype="float32") = R.multiply(lv, R.const(2.0, "float32"))
            lv4: R.Tensor((n, 2, 2), dtype="float32") = R.add(lv3, R.const([[1.0], [2.0]], "float32"))
            gv: R.Tuple(R.Tensor((n, 2, 2), dtype="float32"), R.Tensor((n, 2, 2), dtype="float32")) = (lv2, lv4)
            R.output(gv)
        return gv
