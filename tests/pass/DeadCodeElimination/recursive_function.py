# SPDX-License-Identifier: Apache-2.0
# A function that only it itself calls goes; the result that a loop does not need stays, since the recursion needs it.
@I.ir_module
class Before:
    @R.function(private=True)
    def never(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Before
        y: R.Tensor((4,), "float32") = cls.never(x)
        return y

    @R.function(private=True)
    def loop(i: R.Prim("int64"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Before
        if i < 3:
            unused = R.exp(x)
            y = R.add(x, x)
            next: R.Tensor((4,), "float32") = cls.loop(R.prim_value(i + 1), y)
            r = next
        else:
            r = x
        return r

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Before
        y: R.Tensor((4,), "float32") = cls.loop(R.prim_value(0), x)
        return y
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def loop(i: R.Prim("int64"), x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        if R.prim_value(i < 3):
            y: R.Tensor((4,), dtype="float32") = R.add(x, x)
            next: R.Tensor((4,), dtype="float32") = cls.loop(R.prim_value(i + 1), y)
            r: R.Tensor((4,), dtype="float32") = next
        else:
            r: R.Tensor((4,), dtype="float32") = x
        return r

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        y: R.Tensor((4,), dtype="float32") = cls.loop(R.prim_value(0), x)
        return y
