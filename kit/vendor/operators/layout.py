# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# The same elements at other places.
from tvm.script import ir as I, relax as R


@I.ir_module
class Module:
    @R.function
    def reshape(x: R.Tensor((4, 6), "float32")):
        with R.dataflow():
            gv = R.reshape(x, R.shape([3, 8]))
            R.output(gv)
        return gv

    @R.function
    def transpose(x: R.Tensor((5, 7), "float32")):
        with R.dataflow():
            gv = R.permute_dims(x, axes=[1, 0])
            R.output(gv)
        return gv

    @R.function
    def permute(x: R.Tensor((4, 7, 13), "float32")):
        with R.dataflow():
            gv = R.permute_dims(x, axes=[2, 0, 1])
            R.output(gv)
        return gv

    @R.function
    def concat(x: R.Tensor((3, 4), "float32"), y: R.Tensor((3, 5), "float32")):
        with R.dataflow():
            gv = R.concat((x, y), axis=1)
            R.output(gv)
        return gv

    @R.function
    def split(x: R.Tensor((4, 9), "float32")):
        with R.dataflow():
            lv = R.split(x, indices_or_sections=3, axis=1)
            gv = R.add(lv[0], lv[2])
            R.output(gv)
        return gv

    @R.function
    def slice(x: R.Tensor((9, 8), "float32")):
        with R.dataflow():
            gv = R.strided_slice(x, axes=[0, 1], begin=[1, 0], end=[9, 7], strides=[2, 3])
            R.output(gv)
        return gv

    @R.function
    def pad(x: R.Tensor((3, 4), "float32")):
        with R.dataflow():
            gv = R.nn.pad(x, pad_width=[1, 2, 0, 3], pad_value=0.5)
            R.output(gv)
        return gv

    @R.function
    def flip(x: R.Tensor((5, 6), "float32")):
        with R.dataflow():
            gv = R.flip(x, axis=1)
            R.output(gv)
        return gv

    @R.function
    def tile(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            gv = R.tile(x, repeats=[2, 2])
            R.output(gv)
        return gv

    @R.function
    def repeat(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            gv = R.repeat(x, repeats=2, axis=1)
            R.output(gv)
        return gv

    @R.function
    def squeeze(x: R.Tensor((1, 4, 1), "float32")):
        with R.dataflow():
            gv = R.squeeze(x, axis=[0])
            R.output(gv)
        return gv

    @R.function
    def take(x: R.Tensor((9, 5), "float32"), i: R.Tensor((4,), "int64")):
        with R.dataflow():
            gv = R.take(x, i, axis=0)
            R.output(gv)
        return gv
