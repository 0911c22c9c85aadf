# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# Sums, means and extremes along axes.
from tvm.script import ir as I, relax as R


@I.ir_module
class Module:
    @R.function
    def sum_last(x: R.Tensor((4, 7, 13), "float32")):
        with R.dataflow():
            gv = R.sum(x, axis=[2])
            R.output(gv)
        return gv

    @R.function
    def sum_first(x: R.Tensor((4, 7, 13), "float32")):
        with R.dataflow():
            gv = R.sum(x, axis=[0])
            R.output(gv)
        return gv

    @R.function
    def sum_all(x: R.Tensor((4, 7, 13), "float32")):
        with R.dataflow():
            gv = R.sum(x)
            R.output(gv)
        return gv

    @R.function
    def sum_two(x: R.Tensor((4, 7, 13), "float32")):
        with R.dataflow():
            gv = R.sum(x, axis=[0, 2], keepdims=True)
            R.output(gv)
        return gv

    @R.function
    def mean(x: R.Tensor((4, 7, 13), "float32")):
        with R.dataflow():
            gv = R.mean(x, axis=[1])
            R.output(gv)
        return gv

    @R.function
    def largest(x: R.Tensor((4, 7, 13), "float32")):
        with R.dataflow():
            gv = R.max(x, axis=[2])
            R.output(gv)
        return gv

    @R.function
    def smallest(x: R.Tensor((4, 7, 13), "float32")):
        with R.dataflow():
            gv = R.min(x, axis=[1], keepdims=True)
            R.output(gv)
        return gv

    @R.function
    def variance(x: R.Tensor((4, 7, 13), "float32")):
        with R.dataflow():
            gv = R.variance(x, axis=[2])
            R.output(gv)
        return gv

    @R.function
    def where_largest(x: R.Tensor((4, 7, 13), "float32")):
        with R.dataflow():
            gv = R.argmax(x, axis=2)
            R.output(gv)
        return gv

    @R.function
    def running(x: R.Tensor((4, 7, 13), "float32")):
        with R.dataflow():
            gv = R.cumsum(x, axis=2)
            R.output(gv)
        return gv
