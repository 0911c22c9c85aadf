# SPDX-License-Identifier: Apache-2.0
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 2), "float32")) -> R.Tuple(R.Tensor((2, 4), "float32"), R.Tuple(R.Tensor((4, 2), "float32"), R.Tensor((4, 2), "float32"))):
        with R.dataflow():
            a = R.permute_dims(x, axes=[1, 0])
            b = R.add(x, x)
            t = (a, (b, x))
            R.output(t)
        return t
