# SPDX-License-Identifier: Apache-2.0
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((0, 4), "float32"), y: R.Tensor((2, 4), "float32")) -> R.Tuple(R.Tensor((2, 4), "float32"), R.Tensor((4,), "float32"), R.Tensor((0, 4), "float32")):
        with R.dataflow():
            a = R.concat((x, y), axis=0)
            b = R.sum(x, axis=[0])
            c = R.exp(x)
            d = R.add(c, b)
            R.output(a, b, d)
        return (a, b, d)

    @R.function
    def mm(x: R.Tensor((3, 0), "float32"), y: R.Tensor((0, 4), "float32")) -> R.Tensor((3, 4), "float32"):
        with R.dataflow():
            a = R.matmul(x, y)
            b = R.add(a, R.const(1.0, "float32"))
            R.output(b)
        return b
