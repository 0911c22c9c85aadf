# SPDX-License-Identifier: Apache-2.0
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((5,), "float32")) -> R.Tensor((5,), "float32"):
        if c:
            a = R.add(x, x)
            y = R.exp(a)
        else:
            y = R.multiply(x, x)
        z = R.add(y, x)
        return z
