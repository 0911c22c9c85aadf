# SPDX-License-Identifier: Apache-2.0
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        cls = Module
        n = R.const(6, "int64")
        y: R.Tensor((3,), "float32") = cls.body(n, x)
        return y

    @R.function(private=True)
    def body(n: R.Tensor((), "int64"), x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        cls = Module
        more = R.greater(n, R.const(0, "int64"))
        if more:
            m = R.subtract(n, R.const(1, "int64"))
            half = R.multiply(x, R.const(0.5, "float32"))
            nx = R.add(half, x)
            y: R.Tensor((3,), "float32") = cls.body(m, nx)
        else:
            y: R.Tensor((3,), "float32") = x
        return y
