# SPDX-License-Identifier: Apache-2.0
# Items come in front of their first use, in the order of uses; unused ones go.
# passes: ScatterTupleGetItem
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32"), w: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
        cls = Before
        with R.dataflow():
            a = w[0]
            b = w[1]
            c = w[2]
            y = R.add(x, b)
            z = R.multiply(a, y)
            gv = R.add(z, b)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), w: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32"))) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            b: R.Tensor((4,), dtype="float32") = w[1]
            y: R.Tensor((4,), dtype="float32") = R.add(x, b)
            a: R.Tensor((4,), dtype="float32") = w[0]
            z: R.Tensor((4,), dtype="float32") = R.multiply(a, y)
            gv: R.Tensor((4,), dtype="float32") = R.add(z, b)
            R.output(gv)
        return gv
