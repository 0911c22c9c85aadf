# SPDX-License-Identifier: Apache-2.0 OR MIT-0
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, "n"), "float32"), w: R.Tensor((8, 8), "float32"), z: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            b = R.nn.silu(x)
            d = R.nn.silu(b)
            e = R.sigmoid(d)
            f = R.multiply(d, e)
            g = R.add(f, e)
            lv = R.sigmoid(x)
            h = R.multiply(g, lv)
            p = R.matmul(z, w)
            q = R.nn.silu(p)
            y = R.matmul(q, w)
            R.output(h, y)
        return (h, y)
