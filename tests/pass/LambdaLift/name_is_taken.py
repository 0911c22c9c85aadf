# SPDX-License-Identifier: Apache-2.0
# The module has a function of the name already, and two functions have local ones of one name.
@I.ir_module
class Before:
    @R.function
    def main_inner(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        return x
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        @R.function
        def inner(a: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
            b: R.Tensor((2,), dtype="float32") = R.add(a, a)
            return b
        y: R.Tensor((2,), dtype="float32") = inner(x)
        return y
    @R.function
    def other(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        @R.function
        def inner(a: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
            b: R.Tensor((2,), dtype="float32") = R.multiply(a, a)
            return b
        y: R.Tensor((2,), dtype="float32") = inner(x)
        return y
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main_inner(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        return x

    @R.function(private=True)
    def main_inner_1(a: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        b: R.Tensor((2,), dtype="float32") = R.add(a, a)
        return b

    @R.function
    def other(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        cls = Expected
        y: R.Tensor((2,), dtype="float32") = cls.other_inner(x)
        return y

    @R.function(private=True)
    def other_inner(a: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        b: R.Tensor((2,), dtype="float32") = R.multiply(a, a)
        return b

    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        cls = Expected
        y: R.Tensor((2,), dtype="float32") = cls.main_inner_1(x)
        return y
