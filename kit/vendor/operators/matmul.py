# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# Products: matrices, batches, vectors, extents that no tile divides.
from tvm.script import ir as I, relax as R


@I.ir_module
class Module:
    @R.function
    def square(x: R.Tensor((16, 16), "float32"), w: R.Tensor((16, 16), "float32")):
        with R.dataflow():
            gv = R.matmul(x, w)
            R.output(gv)
        return gv

    @R.function
    def odd(x: R.Tensor((13, 33), "float32"), w: R.Tensor((33, 17), "float32")):
        with R.dataflow():
            gv = R.matmul(x, w)
            R.output(gv)
        return gv

    @R.function
    def row(x: R.Tensor((1, 65), "float32"), w: R.Tensor((65, 31), "float32")):
        with R.dataflow():
            gv = R.matmul(x, w)
            R.output(gv)
        return gv

    @R.function
    def batch(x: R.Tensor((3, 5, 8), "float32"), w: R.Tensor((3, 8, 6), "float32")):
        with R.dataflow():
            gv = R.matmul(x, w)
            R.output(gv)
        return gv

    @R.function
    def shared(x: R.Tensor((2, 3, 5, 8), "float32"), w: R.Tensor((8, 6), "float32")):
        with R.dataflow():
            gv = R.matmul(x, w)
            R.output(gv)
        return gv

    @R.function
    def layer(x: R.Tensor((5, 20), "float32"), w: R.Tensor((12, 20), "float32"), b: R.Tensor((12,), "float32")):
        with R.dataflow():
            lv = R.permute_dims(w, axes=[1, 0])
            lv1 = R.matmul(x, lv)
            lv2 = R.add(lv1, b)
            gv = R.nn.relu(lv2)
            R.output(gv)
        return gv
