# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# Several layers, with results used twice and a tuple of results.
from tvm.script import ir as I, relax as R


@I.ir_module
class Module:
    @R.function
    def attention(q: R.Tensor((1, 2, 7, 8), "float32"), k: R.Tensor((1, 2, 7, 8), "float32"), v: R.Tensor((1, 2, 7, 8), "float32")):
        with R.dataflow():
            lv = R.permute_dims(k, axes=[0, 1, 3, 2])
            lv1 = R.matmul(q, lv)
            lv2 = R.multiply(lv1, R.const(0.35, "float32"))
            lv3 = R.nn.softmax(lv2, axis=-1)
            gv = R.matmul(lv3, v)
            R.output(gv)
        return gv

    @R.function
    def residual(x: R.Tensor((6, 12), "float32"), w: R.Tensor((12, 12), "float32"), b: R.Tensor((12,), "float32")):
        with R.dataflow():
            lv = R.matmul(x, w)
            lv1 = R.nn.gelu(R.add(lv, b))
            gv = R.add(x, lv1)
            R.output(gv)
        return gv

    @R.function
    def two(x: R.Tensor((4, 5), "float32")):
        with R.dataflow():
            gv = R.exp(x)
            gv1 = R.sum(gv, axis=[1])
            R.output(gv, gv1)
        return (gv, gv1)
