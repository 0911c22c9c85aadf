# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# Products with constant and with other weights, one that is needed twice, and one that the patterns do not take.
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 2), "float32"), w: R.Tensor((2, 3), "float32"), b: R.Tensor((3,), "float32"), v: R.Tensor((2, 2, 3), "float32")):
        with R.dataflow():
            c = R.nn.relu(R.add(R.matmul(x, R.const([[1.0, -2.0], [0.5, 3.0]], "float32")), R.const([0.25, -1.0], "float32")))
            d = R.add(R.matmul(c, w), b)
            e = R.tanh(d)
            f = R.matmul(c, v)
            R.output(e, f)
        return (e, f)
