# SPDX-License-Identifier: Apache-2.0
# A variable of the dataflow block is an ordinary parameter of the new function; the extents of its arguments give the
# symbolic variable.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n",), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):
        n = T.int64()
        with R.dataflow():
            y: R.Tensor((n,), dtype="float32") = R.add(x, x)
            @R.function
            def twice(a: R.Tensor((n,), dtype="float32")) -> R.Tensor((n,), dtype="float32"):
                b: R.Tensor((n,), dtype="float32") = R.multiply(a, y)
                return b
            z: R.Tensor((n,), dtype="float32") = twice(x)
            w: R.Tensor((n,), dtype="float32") = twice(z)
            R.output(w)
        return w
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def main_twice(a: R.Tensor(("n",), dtype="float32"), y: R.Tensor(("n",), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):
        n = T.int64()
        b: R.Tensor((n,), dtype="float32") = R.multiply(a, y)
        return b

    @R.function
    def main(x: R.Tensor(("n",), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):
        n = T.int64()
        cls = Expected
        with R.dataflow():
            y: R.Tensor((n,), dtype="float32") = R.add(x, x)
            z: R.Tensor((n,), dtype="float32") = cls.main_twice(x, y)
            w: R.Tensor((n,), dtype="float32") = cls.main_twice(z, y)
            R.output(w)
        return w
