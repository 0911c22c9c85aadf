# SPDX-License-Identifier: Apache-2.0
@I.ir_module
class Module:
    @R.function
    def f(x: R.Tensor(("n",), "float32")) -> R.Prim("int64"):
        n = T.int64()
        return R.prim_value(n * 2)
    @R.function
    def g(x: R.Tensor(("n",), "float32")) -> R.Tuple(R.Tensor(("n",), "float32"), R.Prim("int64")):
        n = T.int64()
        y = R.add(x, x)
        return (y, R.prim_value(n * 2 + 1))
    @R.function
    def h(x: R.Tensor(("n",), "float32")) -> R.Shape(["n + 1", "n * n"]):
        n = T.int64()
        s = R.shape([n + 1, n * n])
        return s
    @R.function
    def i(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        p = R.prim_value(n > 3)
        if p:
            r = R.add(x, x)
        else:
            r = R.exp(x)
        return r
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Prim("float64"):
        n = T.int64()
        a = R.prim_value(T.float64(2.5))
        return a
