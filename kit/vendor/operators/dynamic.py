# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# Extents that are known when a function is called.
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class Module:
    @R.function
    def add(x: R.Tensor(("n", 5), "float32"), y: R.Tensor(("n", 5), "float32")):
        with R.dataflow():
            gv = R.add(x, y)
            R.output(gv)
        return gv

    @R.function
    def matmul(x: R.Tensor(("n", 16), "float32"), w: R.Tensor((16, 9), "float32")):
        with R.dataflow():
            gv = R.matmul(x, w)
            R.output(gv)
        return gv

    @R.function
    def softmax(x: R.Tensor((3, "n"), "float32")):
        with R.dataflow():
            gv = R.nn.softmax(x, axis=-1)
            R.output(gv)
        return gv

    @R.function
    def total(x: R.Tensor(("n", "m"), "float32")):
        with R.dataflow():
            gv = R.sum(x, axis=[0])
            R.output(gv)
        return gv
