# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# Both orders; a sigmoid that is needed elsewhere; one of another value.
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, "n"), "float32"), w: R.Tensor((8, 8), "float32"), z: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            a = R.sigmoid(x)
            b = R.multiply(x, a)
            c = R.sigmoid(b)
            d = R.multiply(c, b)
            e = R.sigmoid(d)
            f = R.multiply(d, e)
            g = R.add(f, e)
            h = R.multiply(g, R.sigmoid(x))
            p = R.matmul(z, w)
            q = R.multiply(R.sigmoid(p), p)
            y = R.matmul(q, w)
            R.output(h, y)
        return (h, y)
