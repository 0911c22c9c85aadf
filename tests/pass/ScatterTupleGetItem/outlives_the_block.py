# SPDX-License-Identifier: Apache-2.0
# An item that is a result of the block stays where it is.
# passes: ScatterTupleGetItem
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32"), w: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
        with R.dataflow():
            a = w[0]
            y = R.add(x, x)
            gv = R.add(y, a)
            R.output(a, gv)
        return (a, gv)
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), w: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32"))) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")):
        with R.dataflow():
            a: R.Tensor((4,), dtype="float32") = w[0]
            y: R.Tensor((4,), dtype="float32") = R.add(x, x)
            gv: R.Tensor((4,), dtype="float32") = R.add(y, a)
            R.output(a, gv)
        return (a, gv)
