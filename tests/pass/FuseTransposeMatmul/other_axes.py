# SPDX-License-Identifier: Apache-2.0
# A transposition of other axes, one whose result is the left operand, and batch extents that nothing proves equal stay.
# passes: FuseTransposeMatmul
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4, 16, 8), "float32"), y: R.Tensor((8, 4, 16), "float32"), a: R.Tensor(("m", 4, 8), "float32"), w: R.Tensor(("n", 4, 8), "float32")):
        cls = Before
        with R.dataflow():
            lv = R.permute_dims(y, axes=[1, 0, 2])
            lv1 = R.matmul(x, lv)
            lv2 = R.permute_dims(x, axes=[0, 2, 1])
            lv3 = R.matmul(lv2, x)
            lv4 = R.permute_dims(w, axes=[0, 2, 1])
            lv5 = R.matmul(a, lv4)
            gv = (lv1, lv3, lv5)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4, 16, 8), dtype="float32"), y: R.Tensor((8, 4, 16), dtype="float32"), a: R.Tensor(("m", 4, 8), dtype="float32"), w: R.Tensor(("n", 4, 8), dtype="float32")) -> R.Tuple(R.Tensor((4, 16, 16), dtype="float32"), R.Tensor((4, 8, 8), dtype="float32"), R.Tensor(("T.Select(n == 1, m, n)", 4, 4), dtype="float32")):
        m = T.int64()
        n = T.int64()
        with R.dataflow():
            lv: R.Tensor((4, 8, 16), dtype="float32") = R.permute_dims(y, axes=[1, 0, 2])
            lv1: R.Tensor((4, 16, 16), dtype="float32") = R.matmul(x, lv, out_dtype=None)
            lv2: R.Tensor((4, 8, 16), dtype="float32") = R.permute_dims(x, axes=[0, 2, 1])
            lv3: R.Tensor((4, 8, 8), dtype="float32") = R.matmul(lv2, x, out_dtype=None)
            lv4: R.Tensor((n, 8, 4), dtype="float32") = R.permute_dims(w, axes=[0, 2, 1])
            lv5: R.Tensor((T.Select(n == 1, m, n), 4, 4), dtype="float32") = R.matmul(a, lv4, out_dtype=None)
            gv: R.Tuple(R.Tensor((4, 16, 16), dtype="float32"), R.Tensor((4, 8, 8), dtype="float32"), R.Tensor((T.Select(n == 1, m, n), 4, 4), dtype="float32")) = (lv1, lv3, lv5)
            R.output(gv)
        return gv
