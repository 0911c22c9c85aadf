# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# Whole numbers and truth values: wrapping, divisions, bits, conversions.
from tvm.script import ir as I, relax as R


@I.ir_module
class Module:
    @R.function
    def add(x: R.Tensor((11,), "int32"), y: R.Tensor((11,), "int32")):
        with R.dataflow():
            gv = R.add(x, y)
            R.output(gv)
        return gv

    @R.function
    def multiply(x: R.Tensor((11,), "int8"), y: R.Tensor((11,), "int8")):
        with R.dataflow():
            gv = R.multiply(x, y)
            R.output(gv)
        return gv

    @R.function
    def divide(x: R.Tensor((11,), "int32"), y: R.Tensor((11,), "int32")):
        with R.dataflow():
            lv = R.add(R.multiply(y, y), R.const(1, "int32"))
            gv = R.floor_divide(x, lv)
            R.output(gv)
        return gv

    @R.function
    def bits(x: R.Tensor((11,), "int32"), y: R.Tensor((11,), "int32")):
        with R.dataflow():
            lv = R.bitwise_and(x, y)
            lv1 = R.bitwise_xor(x, y)
            gv = R.bitwise_or(lv, lv1)
            R.output(gv)
        return gv

    @R.function
    def to_float(x: R.Tensor((11,), "int32")):
        with R.dataflow():
            gv = R.astype(x, dtype="float32")
            R.output(gv)
        return gv

    @R.function
    def to_int(x: R.Tensor((11,), "float32")):
        with R.dataflow():
            gv = R.astype(x, dtype="int32")
            R.output(gv)
        return gv

    @R.function
    def wide(x: R.Tensor((11,), "uint8")):
        with R.dataflow():
            gv = R.astype(x, dtype="int64")
            R.output(gv)
        return gv

    @R.function
    def logic(x: R.Tensor((11,), "bool"), y: R.Tensor((11,), "bool")):
        with R.dataflow():
            gv = R.logical_and(x, R.logical_not(y))
            R.output(gv)
        return gv

    @R.function
    def total(x: R.Tensor((4, 5), "int64")):
        with R.dataflow():
            gv = R.sum(x, axis=[1])
            R.output(gv)
        return gv
