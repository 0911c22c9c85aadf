# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# Functions between the layers of networks.
from tvm.script import ir as I, relax as R


@I.ir_module
class Module:
    @R.function
    def relu(x: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.nn.relu(x)
            R.output(gv)
        return gv

    @R.function
    def gelu(x: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.nn.gelu(x)
            R.output(gv)
        return gv

    @R.function
    def gelu_tanh(x: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.nn.gelu_tanh(x)
            R.output(gv)
        return gv

    @R.function
    def silu(x: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.nn.silu(x)
            R.output(gv)
        return gv

    @R.function
    def leakyrelu(x: R.Tensor((3, 17), "float32")):
        with R.dataflow():
            gv = R.nn.leakyrelu(x, alpha=0.1)
            R.output(gv)
        return gv

    @R.function
    def prelu(x: R.Tensor((2, 5, 3), "float32"), s: R.Tensor((5,), "float32")):
        with R.dataflow():
            gv = R.nn.prelu(x, s, axis=1)
            R.output(gv)
        return gv
