# SPDX-License-Identifier: Apache-2.0
# What a local function uses from outside becomes parameters: a value of a dataflow block, behind its own; a symbolic
# variable that no extent gives, before them. One inside another is lifted first.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        with R.dataflow():
            k: R.Tensor((n * 4,), dtype="float32") = R.reshape(x, R.shape([n * 4]))
            d: R.Tensor((n * 4,), dtype="float32") = R.add(k, k)
            R.output(d)
        @R.function
        def outer(a: R.Tensor((4,), dtype="float32")) -> R.Tensor((n, 4), dtype="float32"):
            @R.function
            def inner(b: R.Tensor((4,), dtype="float32")) -> R.Tensor((n, 4), dtype="float32"):
                e: R.Tensor((n, 4), dtype="float32") = R.reshape(d, R.shape([n, 4]))
                g: R.Tensor((n, 4), dtype="float32") = R.add(e, b)
                return g
            h: R.Tensor((n, 4), dtype="float32") = inner(a)
            return h
        if c:
            y: R.Tensor((n, 4), dtype="float32") = outer(R.const([1, 2, 3, 4], "float32"))
            z: R.Tensor((n, 4), dtype="float32") = y
        else:
            z: R.Tensor((n, 4), dtype="float32") = x
        return z
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def main_inner(n: R.Prim("int64"), b: R.Tensor((4,), dtype="float32"), d: R.Tensor(("n * 4",), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        e: R.Tensor((n, 4), dtype="float32") = R.reshape(d, R.shape([n, 4]))
        g: R.Tensor((n, 4), dtype="float32") = R.add(e, b)
        return g

    @R.function(private=True)
    def main_outer(n: R.Prim("int64"), a: R.Tensor((4,), dtype="float32"), d: R.Tensor(("n * 4",), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        cls = Expected
        h: R.Tensor((n, 4), dtype="float32") = cls.main_inner(n, a, d)
        return h

    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        cls = Expected
        with R.dataflow():
            k: R.Tensor((n * 4,), dtype="float32") = R.reshape(x, R.shape([n * 4]))
            d: R.Tensor((n * 4,), dtype="float32") = R.add(k, k)
            R.output(d)
        if c:
            y: R.Tensor((n, 4), dtype="float32") = cls.main_outer(n, R.const([1.0, 2.0, 3.0, 4.0], "float32"), d)
            z: R.Tensor((n, 4), dtype="float32") = y
        else:
            z: R.Tensor((n, 4), dtype="float32") = x
        return z
