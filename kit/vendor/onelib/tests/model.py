# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# Products with constant and with other weights, one that is needed twice, one of nothing (each sum is zero), and two that the patterns do
# not take: batched weights, and a sum in another type.
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 2), "float32"), w: R.Tensor((2, 3), "float32"), b: R.Tensor((3,), "float32"), v: R.Tensor((2, 2, 3), "float32"),
             none: R.Tensor(("n", 0), "float32"), of_none: R.Tensor((0, 3), "float32")):
        with R.dataflow():
            c = R.nn.relu(R.add(R.matmul(x, R.const([[1.0, -2.0], [0.5, 3.0]], "float32")), R.const([0.25, -1.0], "float32")))
            d = R.add(R.matmul(c, w), b)
            e = R.tanh(d)
            f = R.matmul(c, v)
            g = R.matmul(c, w, out_dtype="float64")
            h = R.add(R.matmul(none, of_none), b)
            R.output(e, f, g, h)
        return (e, f, g, h)
