# SPDX-License-Identifier: Apache-2.0
# error: LambdaLift: a value is made of the local function 'inner'
# at: 10
# Closures have no form in the machine.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        @R.function
        def inner(a: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
            return a
        t = (x, inner)
        y: R.Tensor((2,), dtype="float32") = inner(x)
        return y
