# SPDX-License-Identifier: Apache-2.0
# Variables that a local function captures stay ordinary ones; renamings inside it go.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.exp(x)

        @R.function
        def inner(z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            a = z
            b = R.add(a, y)
            c = b
            return c

        w = inner(y)
        return w
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        y: R.Tensor((4,), dtype="float32") = R.exp(x)
        @R.function
        def inner(z: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            b: R.Tensor((4,), dtype="float32") = R.add(z, y)
            return b
        w: R.Tensor((4,), dtype="float32") = inner(y)
        return w
