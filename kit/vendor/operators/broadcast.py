# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# Operands of different shapes.
from tvm.script import ir as I, relax as R


@I.ir_module
class Module:
    @R.function
    def row(x: R.Tensor((4, 9), "float32"), y: R.Tensor((9,), "float32")):
        with R.dataflow():
            gv = R.add(x, y)
            R.output(gv)
        return gv

    @R.function
    def column(x: R.Tensor((4, 9), "float32"), y: R.Tensor((4, 1), "float32")):
        with R.dataflow():
            gv = R.multiply(x, y)
            R.output(gv)
        return gv

    @R.function
    def both(x: R.Tensor((4, 1, 5), "float32"), y: R.Tensor((3, 1), "float32")):
        with R.dataflow():
            gv = R.subtract(x, y)
            R.output(gv)
        return gv

    @R.function
    def scalar(x: R.Tensor((7,), "float32"), y: R.Tensor((), "float32")):
        with R.dataflow():
            gv = R.add(x, y)
            R.output(gv)
        return gv

    @R.function
    def broadcast_to(x: R.Tensor((3, 1), "float32")):
        with R.dataflow():
            gv = R.broadcast_to(x, R.shape([2, 3, 5]))
            R.output(gv)
        return gv
