# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# Convolutions: strides, padding, dilation, groups, transposed; with what networks put behind them.
from tvm.script import ir as I, relax as R


@I.ir_module
class Module:
    @R.function
    def plain(x: R.Tensor((1, 6, 9, 11), "float32"), w: R.Tensor((8, 6, 3, 3), "float32")):
        with R.dataflow():
            gv = R.nn.conv2d(x, w)
            R.output(gv)
        return gv

    @R.function
    def padded(x: R.Tensor((1, 6, 9, 11), "float32"), w: R.Tensor((5, 6, 3, 3), "float32")):
        with R.dataflow():
            gv = R.nn.conv2d(x, w, padding=[1, 1, 1, 1])
            R.output(gv)
        return gv

    @R.function
    def strided(x: R.Tensor((1, 6, 9, 11), "float32"), w: R.Tensor((8, 6, 3, 3), "float32")):
        with R.dataflow():
            gv = R.nn.conv2d(x, w, strides=[2, 1], dilation=[1, 2], padding=[1, 0, 2, 1])
            R.output(gv)
        return gv

    @R.function
    def pointwise(x: R.Tensor((1, 6, 9, 11), "float32"), w: R.Tensor((4, 6, 1, 1), "float32")):
        with R.dataflow():
            gv = R.nn.conv2d(x, w)
            R.output(gv)
        return gv

    @R.function
    def grouped(x: R.Tensor((1, 6, 9, 11), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")):
        with R.dataflow():
            gv = R.nn.conv2d(x, w, groups=2)
            R.output(gv)
        return gv

    @R.function
    def depthwise(x: R.Tensor((1, 6, 9, 11), "float32"), w: R.Tensor((6, 1, 3, 3), "float32")):
        with R.dataflow():
            gv = R.nn.conv2d(x, w, padding=[1, 1, 1, 1], groups=6)
            R.output(gv)
        return gv

    @R.function
    def transposed(x: R.Tensor((1, 6, 9, 11), "float32"), w: R.Tensor((6, 4, 3, 3), "float32")):
        with R.dataflow():
            gv = R.nn.conv2d_transpose(x, w, strides=[2, 2], padding=[1, 1, 1, 1])
            R.output(gv)
        return gv

    @R.function
    def line(x: R.Tensor((2, 3, 20), "float32"), w: R.Tensor((4, 3, 5), "float32")):
        with R.dataflow():
            gv = R.nn.conv1d(x, w, strides=[2], padding=[2, 2])
            R.output(gv)
        return gv

    @R.function
    def block(x: R.Tensor((1, 6, 9, 11), "float32"), w: R.Tensor((8, 6, 3, 3), "float32"), b: R.Tensor((1, 8, 1, 1), "float32")):
        with R.dataflow():
            lv = R.nn.conv2d(x, w, padding=[1, 1, 1, 1])
            lv1 = R.add(lv, b)
            lv2 = R.nn.relu(lv1)
            gv = R.nn.max_pool2d(lv2, pool_size=[2, 2], strides=[2, 2])
            R.output(gv)
        return gv
