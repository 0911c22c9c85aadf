# SPDX-License-Identifier: Apache-2.0
# Fields of two tuples, fields in another order, or not all fields, are no tuple that exists.
@I.ir_module
class Before:
    @R.function
    def main(a: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")), b: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")), c: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32"), R.Tensor((2,), "float32"))):
        with R.dataflow():
            a0 = a[0]
            a1 = a[1]
            b1 = b[1]
            c0 = c[0]
            c1 = c[1]
            two = (a0, b1)
            turned = (a1, a0)
            part = (c0, c1)
            gv = (two, turned, part)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(a: R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")), b: R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")), c: R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32"))) -> R.Tuple(R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")), R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")), R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32"))):
        with R.dataflow():
            a0: R.Tensor((2,), dtype="float32") = a[0]
            a1: R.Tensor((2,), dtype="float32") = a[1]
            b1: R.Tensor((2,), dtype="float32") = b[1]
            c0: R.Tensor((2,), dtype="float32") = c[0]
            c1: R.Tensor((2,), dtype="float32") = c[1]
            two: R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")) = (a0, b1)
            turned: R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")) = (a1, a0)
            part: R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")) = (c0, c1)
            gv: R.Tuple(R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")), R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")), R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32"))) = (two, turned, part)
            R.output(gv)
        return gv
