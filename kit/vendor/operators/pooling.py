# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# Windows over images.
from tvm.script import ir as I, relax as R


@I.ir_module
class Module:
    @R.function
    def largest(x: R.Tensor((1, 6, 9, 11), "float32")):
        with R.dataflow():
            gv = R.nn.max_pool2d(x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])
            R.output(gv)
        return gv

    @R.function
    def average(x: R.Tensor((1, 6, 9, 11), "float32")):
        with R.dataflow():
            gv = R.nn.avg_pool2d(x, pool_size=[2, 3], strides=[1, 2])
            R.output(gv)
        return gv

    @R.function
    def over_all(x: R.Tensor((1, 6, 9, 11), "float32")):
        with R.dataflow():
            gv = R.nn.adaptive_avg_pool2d(x, output_size=[1, 1])
            R.output(gv)
        return gv
