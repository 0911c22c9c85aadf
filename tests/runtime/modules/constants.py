# SPDX-License-Identifier: Apache-2.0
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            a = R.add(x, R.const([1.0, 2.0, 3.0, 4.0], "float32"))
            b = R.multiply(a, R.const([0.5, 0.25, 0.125, 2.0], "float32"))
            c = R.subtract(b, R.const([1.0, 2.0, 3.0, 4.0], "float32"))
            R.output(c)
        return c
