# SPDX-License-Identifier: Apache-2.0
# An item of an item is taken when that is.
# passes: ScatterTupleGetItem
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32"), w: R.Tuple(R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")), R.Tensor((4,), "float32"))):
        cls = Before
        with R.dataflow():
            t = w[0]
            a = t[1]
            y = R.add(x, x)
            gv = R.add(y, a)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), w: R.Tuple(R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")), R.Tensor((4,), dtype="float32"))) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            t: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")) = w[0]
            y: R.Tensor((4,), dtype="float32") = R.add(x, x)
            a: R.Tensor((4,), dtype="float32") = t[1]
            gv: R.Tensor((4,), dtype="float32") = R.add(y, a)
            R.output(gv)
        return gv
