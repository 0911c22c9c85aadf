# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# Arithmetic of tensors of one shape, and functions of one element.
from tvm.script import ir as I, relax as R


@I.ir_module
class Module:
    @R.function
    def add(x: R.Tensor((3, 17), "float32"), y: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.add(x, y)
            R.output(gv)
        return gv

    @R.function
    def subtract(x: R.Tensor((3, 17), "float32"), y: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.subtract(x, y)
            R.output(gv)
        return gv

    @R.function
    def multiply(x: R.Tensor((3, 17), "float32"), y: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.multiply(x, y)
            R.output(gv)
        return gv

    @R.function
    def maximum(x: R.Tensor((3, 17), "float32"), y: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.maximum(x, y)
            R.output(gv)
        return gv

    @R.function
    def minimum(x: R.Tensor((3, 17), "float32"), y: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.minimum(x, y)
            R.output(gv)
        return gv

    @R.function
    def divide(x: R.Tensor((3, 17), "float32"), y: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            lv = R.add(R.abs(y), R.const(1.0, "float32"))
            gv = R.divide(x, lv)
            R.output(gv)
        return gv

    @R.function
    def exp(x: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.exp(x)
            R.output(gv)
        return gv

    @R.function
    def tanh(x: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.tanh(x)
            R.output(gv)
        return gv

    @R.function
    def sigmoid(x: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.sigmoid(x)
            R.output(gv)
        return gv

    @R.function
    def erf(x: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.erf(x)
            R.output(gv)
        return gv

    @R.function
    def floor(x: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.floor(x)
            R.output(gv)
        return gv

    @R.function
    def ceil(x: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.ceil(x)
            R.output(gv)
        return gv

    @R.function
    def round(x: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.round(x)
            R.output(gv)
        return gv

    @R.function
    def abs(x: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.abs(x)
            R.output(gv)
        return gv

    @R.function
    def negative(x: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.negative(x)
            R.output(gv)
        return gv

    @R.function
    def sin(x: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.sin(x)
            R.output(gv)
        return gv

    @R.function
    def cos(x: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.cos(x)
            R.output(gv)
        return gv

    @R.function
    def roots(x: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            lv = R.add(R.abs(x), R.const(0.5, "float32"))
            lv1 = R.sqrt(lv)
            lv2 = R.log(lv)
            gv = R.multiply(lv1, lv2)
            R.output(gv)
        return gv

    @R.function
    def power(x: R.Tensor((3, 17), "float32"), y: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            lv = R.add(R.abs(x), R.const(0.5, "float32"))
            gv = R.power(lv, y)
            R.output(gv)
        return gv

    @R.function
    def clip(x: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.clip(x, R.prim_value(-0.25), R.prim_value(0.5))
            R.output(gv)
        return gv

    @R.function
    def compare(x: R.Tensor((3, 17), "float32"), y: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.less(x, y)
            R.output(gv)
        return gv

    @R.function
    def choose(x: R.Tensor((3, 17), "float32"), y: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            lv = R.greater(x, y)
            gv = R.where(lv, x, R.negative(y))
            R.output(gv)
        return gv
