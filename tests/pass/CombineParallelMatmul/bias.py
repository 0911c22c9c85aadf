# SPDX-License-Identifier: Apache-2.0
# A bias behind each product, and relu behind that.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), w0: R.Tensor((4, 3), dtype="float32"), w1: R.Tensor((4, 5), dtype="float32"), b0: R.Tensor((3,), dtype="float32"), b1: R.Tensor((5,), dtype="float32")) -> R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((2, 5), dtype="float32")):
        with R.dataflow():
            lv: R.Tensor((2, 3), dtype="float32") = R.matmul(x, w0)
            lv1: R.Tensor((2, 3), dtype="float32") = R.add(lv, b0)
            lv2: R.Tensor((2, 3), dtype="float32") = R.nn.relu(lv1)
            lv3: R.Tensor((2, 5), dtype="float32") = R.matmul(x, w1)
            lv4: R.Tensor((2, 5), dtype="float32") = R.add(lv3, b1)
            lv5: R.Tensor((2, 5), dtype="float32") = R.nn.relu(lv4)
            gv = (lv2, lv5)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), w0: R.Tensor((4, 3), dtype="float32"), w1: R.Tensor((4, 5), dtype="float32"), b0: R.Tensor((3,), dtype="float32"), b1: R.Tensor((5,), dtype="float32")) -> R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((2, 5), dtype="float32")):
        with R.dataflow():
            lv: R.Tensor((4, 8), dtype="float32") = R.concat((w0, w1), axis=1)
            lv_1: R.Tensor((2, 8), dtype="float32") = R.matmul(x, lv, out_dtype="float32")
            lv_2: R.Tensor((8,), dtype="float32") = R.concat((b0, b1), axis=0)
            lv_3: R.Tensor((2, 8), dtype="float32") = R.add(lv_1, lv_2)
            lv_4: R.Tensor((2, 8), dtype="float32") = R.nn.relu(lv_3)
            lv_5: R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((2, 5), dtype="float32")) = R.split(lv_4, indices_or_sections=[3], axis=1)
            lv2: R.Tensor((2, 3), dtype="float32") = lv_5[0]
            lv5: R.Tensor((2, 5), dtype="float32") = lv_5[1]
            gv: R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((2, 5), dtype="float32")) = (lv2, lv5)
            R.output(gv)
        return gv
