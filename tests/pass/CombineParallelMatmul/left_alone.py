# SPDX-License-Identifier: Apache-2.0
# Left alone: batches that differ, a right operand computed only behind the first product, a bias that is broadcast over columns.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), y: R.Tensor((2, 4), dtype="float32"), w0: R.Tensor((2, 4, 3), dtype="float32"), w1: R.Tensor((3, 4, 3), dtype="float32"), w2: R.Tensor((4, 4), dtype="float32"), b: R.Tensor((1,), dtype="float32")) -> R.Tuple(R.Tensor((2, 2, 3), dtype="float32"), R.Tensor((3, 2, 3), dtype="float32"), R.Tensor((2, 2), dtype="float32"), R.Tensor((2, 4), dtype="float32")):
        with R.dataflow():
            lv: R.Tensor((2, 2, 3), dtype="float32") = R.matmul(x, w0)
            lv1: R.Tensor((3, 2, 3), dtype="float32") = R.matmul(x, w1)
            lv2: R.Tensor((2, 4), dtype="float32") = R.matmul(y, w2)
            lv3: R.Tensor((4, 2), dtype="float32") = R.permute_dims(lv2)
            lv4: R.Tensor((2, 2), dtype="float32") = R.matmul(y, lv3)
            lv5: R.Tensor((2, 4), dtype="float32") = R.add(lv2, b)
            gv = (lv, lv1, lv4, lv5)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), y: R.Tensor((2, 4), dtype="float32"), w0: R.Tensor((2, 4, 3), dtype="float32"), w1: R.Tensor((3, 4, 3), dtype="float32"), w2: R.Tensor((4, 4), dtype="float32"), b: R.Tensor((1,), dtype="float32")) -> R.Tuple(R.Tensor((2, 2, 3), dtype="float32"), R.Tensor((3, 2, 3), dtype="float32"), R.Tensor((2, 2), dtype="float32"), R.Tensor((2, 4), dtype="float32")):
        with R.dataflow():
            lv: R.Tensor((2, 2, 3), dtype="float32") = R.matmul(x, w0, out_dtype="void")
            lv1: R.Tensor((3, 2, 3), dtype="float32") = R.matmul(x, w1, out_dtype="void")
            lv2: R.Tensor((2, 4), dtype="float32") = R.matmul(y, w2, out_dtype="void")
            lv3: R.Tensor((4, 2), dtype="float32") = R.permute_dims(lv2, axes=None)
            lv4: R.Tensor((2, 2), dtype="float32") = R.matmul(y, lv3, out_dtype="void")
            lv5: R.Tensor((2, 4), dtype="float32") = R.add(lv2, b)
            gv: R.Tuple(R.Tensor((2, 2, 3), dtype="float32"), R.Tensor((3, 2, 3), dtype="float32"), R.Tensor((2, 2), dtype="float32"), R.Tensor((2, 4), dtype="float32")) = (lv, lv1, lv4, lv5)
            R.output(gv)
        return gv
