# SPDX-License-Identifier: Apache-2.0
# The call of the next turn stays the last thing in its branch.
@I.ir_module
class Before:
    @R.function(private=True)
    def loop(i: R.Prim("int64"), count: R.Prim("int64"), x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Before
        if i < count:
            with R.dataflow():
                a = R.multiply(x, w)
                b = R.add(a, w)
                R.output(b)
            next: R.Tensor((4,), "float32") = cls.loop(R.prim_value(i + 1), count, b, w)
            r = next
        else:
            r = x
        return r

    @R.function
    def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32"), count: R.Tensor((1,), "int64")) -> R.Tensor((4,), "float32"):
        n = T.int64()
        cls = Before
        with R.dataflow():
            s = R.tensor_to_shape(count)
            s1 = R.match_cast(s, R.Shape([n]))
            y: R.Tensor((4,), "float32") = cls.loop(R.prim_value(0), n, x, w)
            R.output(y)
        return y
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def loop(i: R.Prim("int64"), count: R.Prim("int64"), x: R.Tensor((4,), dtype="float32"), w: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        if R.prim_value(i < count):
            with R.dataflow():
                a: R.Tensor((4,), dtype="float32") = R.multiply(x, w)
                b: R.Tensor((4,), dtype="float32") = R.add(a, w)
                R.output(b)
            next: R.Tensor((4,), dtype="float32") = cls.loop(R.prim_value(i + 1), count, b, w)
            r: R.Tensor((4,), dtype="float32") = next
        else:
            r: R.Tensor((4,), dtype="float32") = x
        return r

    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), w: R.Tensor((4,), dtype="float32"), count: R.Tensor((1,), dtype="int64")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            s: R.Shape(ndim=1) = R.tensor_to_shape(count)
            n = T.int64()
            s1 = R.match_cast(s, R.Shape([n]))
            y: R.Tensor((4,), dtype="float32") = cls.loop(R.prim_value(0), n, x, w)
            R.output(y)
        return y
