# SPDX-License-Identifier: Apache-2.0
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((5, 7), "float32"), w: R.Tensor((7, 6), "float32"), b: R.Tensor((6,), "float32")) -> R.Tensor((5, 6), "float32"):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.add(y, b)
            r = R.nn.relu(z)
            R.output(r)
        return r
