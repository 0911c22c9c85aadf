# SPDX-License-Identifier: Apache-2.0
# error: LambdaLift: a local function uses the function 'f'
# at: 10
# A function among the captured values.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32"), f: R.Callable((R.Tensor((2,), dtype="float32"),), R.Tensor((2,), dtype="float32"), True)) -> R.Tensor((2,), dtype="float32"):
        @R.function
        def inner(a: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
            b: R.Tensor((2,), dtype="float32") = f(a)
            return b
        y: R.Tensor((2,), dtype="float32") = inner(x)
        return y
