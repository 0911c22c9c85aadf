# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# Softmax and the normalizations of networks.
from tvm.script import ir as I, relax as R


@I.ir_module
class Module:
    @R.function
    def softmax(x: R.Tensor((4, 7, 13), "float32")):
        with R.dataflow():
            gv = R.nn.softmax(x, axis=-1)
            R.output(gv)
        return gv

    @R.function
    def softmax_inner(x: R.Tensor((4, 7, 13), "float32")):
        with R.dataflow():
            gv = R.nn.softmax(x, axis=1)
            R.output(gv)
        return gv

    @R.function
    def log_softmax(x: R.Tensor((4, 7, 13), "float32")):
        with R.dataflow():
            gv = R.nn.log_softmax(x, axis=-1)
            R.output(gv)
        return gv

    @R.function
    def layer_norm(x: R.Tensor((4, 7, 13), "float32"), g: R.Tensor((13,), "float32"), b: R.Tensor((13,), "float32")):
        with R.dataflow():
            gv = R.nn.layer_norm(x, g, b, axes=[-1], epsilon=1e-05)
            R.output(gv)
        return gv

    @R.function
    def rms_norm(x: R.Tensor((4, 7, 13), "float32"), g: R.Tensor((13,), "float32")):
        with R.dataflow():
            gv = R.nn.rms_norm(x, g, axes=[-1], epsilon=1e-05)
            R.output(gv)
        return gv
