# SPDX-License-Identifier: Apache-2.0
# A shape computed from constants gives the reshape, and with it the function, a static type; a constant that is returned stands in the result.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((12,), dtype="float32")) -> R.Tuple(R.Tensor(dtype="float32", ndim=2), R.Tensor((2,), dtype="int64")):
        with R.dataflow():
            lv: R.Tensor((2,), dtype="int64") = R.add(R.const([1, 2], "int64"), R.const([1, 2], "int64"))
            lv1: R.Tensor((2,), dtype="int64") = R.add(lv, R.const([2, -1], "int64"))
            lv2: R.Shape(ndim=2) = R.tensor_to_shape(lv1)
            gv: R.Tensor(dtype="float32", ndim=2) = R.reshape(x, lv2)
            gv1: R.Tensor((2,), dtype="int64") = lv1
            R.output(gv, gv1)
        return (gv, gv1)
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((12,), dtype="float32")) -> R.Tuple(R.Tensor((4, 3), dtype="float32"), R.Tensor((2,), dtype="int64")):
        with R.dataflow():
            gv: R.Tensor((4, 3), dtype="float32") = R.reshape(x, R.shape([4, 3]))
            R.output(gv)
        return (gv, R.const([4, 3], "int64"))
