# SPDX-License-Identifier: Apache-2.0
# Three products of one operand become one; a bias that only some have stays apart; another operand's single product stays.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), z: R.Tensor((2, 4), dtype="float32"), w0: R.Tensor((4, 3), dtype="float32"), w1: R.Tensor((4, 5), dtype="float32"), w2: R.Tensor((4, 3), dtype="float32"), b: R.Tensor((5,), dtype="float32")) -> R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((2, 5), dtype="float32"), R.Tensor((2, 3), dtype="float32"), R.Tensor((2, 3), dtype="float32")):
        with R.dataflow():
            lv: R.Tensor((2, 3), dtype="float32") = R.matmul(x, w0)
            lv1: R.Tensor((2, 5), dtype="float32") = R.matmul(x, w1)
            lv2: R.Tensor((2, 5), dtype="float32") = R.add(lv1, b)
            lv3: R.Tensor((2, 3), dtype="float32") = R.matmul(x, w2)
            lv4: R.Tensor((2, 3), dtype="float32") = R.matmul(z, w0)
            gv = (lv, lv2, lv3, lv4)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), z: R.Tensor((2, 4), dtype="float32"), w0: R.Tensor((4, 3), dtype="float32"), w1: R.Tensor((4, 5), dtype="float32"), w2: R.Tensor((4, 3), dtype="float32"), b: R.Tensor((5,), dtype="float32")) -> R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((2, 5), dtype="float32"), R.Tensor((2, 3), dtype="float32"), R.Tensor((2, 3), dtype="float32")):
        with R.dataflow():
            lv: R.Tensor((4, 11), dtype="float32") = R.concat((w0, w1, w2), axis=1)
            lv_1: R.Tensor((2, 11), dtype="float32") = R.matmul(x, lv, out_dtype="float32")
            lv_2: R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((2, 5), dtype="float32"), R.Tensor((2, 3), dtype="float32")) = R.split(lv_1, indices_or_sections=[3, 8], axis=1)
            lv_3: R.Tensor((2, 3), dtype="float32") = lv_2[0]
            lv1: R.Tensor((2, 5), dtype="float32") = lv_2[1]
            lv2: R.Tensor((2, 5), dtype="float32") = R.add(lv1, b)
            lv3: R.Tensor((2, 3), dtype="float32") = lv_2[2]
            lv4: R.Tensor((2, 3), dtype="float32") = R.matmul(z, w0, out_dtype="void")
            gv: R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((2, 5), dtype="float32"), R.Tensor((2, 3), dtype="float32"), R.Tensor((2, 3), dtype="float32")) = (lv_3, lv2, lv3, lv4)
            R.output(gv)
        return gv
