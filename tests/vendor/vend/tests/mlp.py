# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# Layers of all four patterns, more of them than the library's queue holds; products that it does not take (both operands batched, a sum
# in another type), one whose sum is needed twice, one of nothing, and work of the target between them.
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), w0: R.Tensor((8, 16), "float32"), b0: R.Tensor((16,), "float32"),
             w1: R.Tensor((16, 16), "float32"), b1: R.Tensor((16,), "float32"), w2: R.Tensor((16, 4), "float32"),
             b2: R.Tensor((4,), "float32")):
        with R.dataflow():
            a0 = R.nn.relu(R.add(R.matmul(x, w0), b0))
            a1 = R.add(R.matmul(a0, w1), b1)
            a2 = R.nn.relu(R.matmul(a1, w1))
            a3 = R.matmul(a2, w1)
            a4 = R.nn.relu(R.add(R.matmul(a3, w1), b1))
            p = R.nn.softmax(a4, axis=1)
            q = R.add(R.matmul(p, w1), b1)
            r = R.add(q, R.nn.relu(q))
            y = R.add(R.matmul(r, w2), b2)
            R.output(y, a2)
        return (y, a2)

    @R.function
    def batched(x: R.Tensor((2, 3, 8), "float32"), w: R.Tensor((8, 5), "float32"), v: R.Tensor((2, 5, 4), "float32")):
        with R.dataflow():
            a = R.nn.relu(R.matmul(x, w))
            y = R.matmul(a, v)
            z = R.matmul(x, w, out_dtype="float64")
            R.output(y, z)
        return (y, z)

    @R.function
    def of_nothing(x: R.Tensor(("n", 0), "float32"), w: R.Tensor((0, 5), "float32"), b: R.Tensor((5,), "float32")):
        with R.dataflow():
            y = R.add(R.matmul(x, w), b)
            R.output(y)
        return y
