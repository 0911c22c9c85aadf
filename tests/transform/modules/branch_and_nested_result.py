# SPDX-License-Identifier: Apache-2.0
@I.ir_module
class Module:
    @R.function(private=True)
    def helper(x: R.Tensor(("n", 4), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        with R.dataflow():
            a = R.add(x, y)
            dead = R.exp(a)
            b = R.nn.relu(a)
            R.output(b)
        return b

    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")) -> R.Tuple(R.Tensor(("n", 4), "float32"), R.Tuple(R.Tensor(("n", 4), "float32"), R.Tensor((4,), "float32"))):
        n = T.int64()
        cls = Module
        a: R.Tensor((n, 4), "float32") = cls.helper(x, w)
        if c:
            t = R.add(a, x)
            u = R.multiply(t, t)
            r: R.Tensor((n, 4), "float32") = cls.helper(u, w)
        else:
            t2 = R.subtract(a, x)
            r: R.Tensor((n, 4), "float32") = R.tanh(t2)
        with R.dataflow():
            s = R.sum(r, axis=[0])
            e = R.exp(r)
            tt = (e, s)
            q = (r, tt)
            R.output(q)
        return q
