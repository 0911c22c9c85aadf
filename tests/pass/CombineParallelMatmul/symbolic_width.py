# SPDX-License-Identifier: Apache-2.0
# One symbolic width is combined, as the last; another stays apart.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), w0: R.Tensor((4, "n"), dtype="float32"), w1: R.Tensor((4, 5), dtype="float32"), w2: R.Tensor((4, "m"), dtype="float32")) -> R.Tuple(R.Tensor((2, "n"), dtype="float32"), R.Tensor((2, 5), dtype="float32"), R.Tensor((2, "m"), dtype="float32")):
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            lv: R.Tensor((2, n), dtype="float32") = R.matmul(x, w0)
            lv1: R.Tensor((2, 5), dtype="float32") = R.matmul(x, w1)
            lv2: R.Tensor((2, m), dtype="float32") = R.matmul(x, w2)
            gv = (lv, lv1, lv2)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), w0: R.Tensor((4, "n"), dtype="float32"), w1: R.Tensor((4, 5), dtype="float32"), w2: R.Tensor((4, "m"), dtype="float32")) -> R.Tuple(R.Tensor((2, "n"), dtype="float32"), R.Tensor((2, 5), dtype="float32"), R.Tensor((2, "m"), dtype="float32")):
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            lv: R.Tensor((4, 5 + n), dtype="float32") = R.concat((w1, w0), axis=1)
            lv_1: R.Tensor((2, 5 + n), dtype="float32") = R.matmul(x, lv, out_dtype="float32")
            lv_2: R.Tuple(R.Tensor((2, 5), dtype="float32"), R.Tensor((2, n), dtype="float32")) = R.split(lv_1, indices_or_sections=[5], axis=1)
            lv_3: R.Tensor((2, n), dtype="float32") = lv_2[1]
            lv1: R.Tensor((2, 5), dtype="float32") = lv_2[0]
            lv2: R.Tensor((2, m), dtype="float32") = R.matmul(x, w2, out_dtype="void")
            gv: R.Tuple(R.Tensor((2, n), dtype="float32"), R.Tensor((2, 5), dtype="float32"), R.Tensor((2, m), dtype="float32")) = (lv_3, lv1, lv2)
            R.output(gv)
        return gv
