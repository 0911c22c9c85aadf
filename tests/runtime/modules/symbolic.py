# SPDX-License-Identifier: Apache-2.0
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("m",), "float32")) -> R.Tensor(("n * m",), "float32"):
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            a = R.add(x, y)
            b = R.multiply(a, a)
            c = R.reshape(b, R.shape([n * m]))
            R.output(c)
        return c
