# SPDX-License-Identifier: Apache-2.0
@I.ir_module
class Module:
    @R.function
    def loop(i: R.Tensor((), "int64"), x: R.Tensor((3, 4), "float32")) -> R.Tensor((3, 4), "float32"):
        cls = Module
        c = R.less(i, R.const(5, "int64"))
        if c:
            j = R.add(i, R.const(1, "int64"))
            with R.dataflow():
                y0 = R.multiply(x, R.const(0.5, "float32"))
                y1 = R.add(y0, R.const(1.0, "float32"))
                y = R.tanh(y1)
                R.output(y)
            r: R.Tensor((3, 4), "float32") = cls.loop(j, y)
        else:
            r: R.Tensor((3, 4), "float32") = x
        return r

    @R.function
    def main(x: R.Tensor((3, 4), "float32")) -> R.Tensor((3, 4), "float32"):
        cls = Module
        r: R.Tensor((3, 4), "float32") = cls.loop(R.const(0, "int64"), x)
        return r
