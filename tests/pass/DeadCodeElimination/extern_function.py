# SPDX-License-Identifier: Apache-2.0
# A declared function of another module stays; a private one that nobody calls goes.
@I.ir_module
class Before:
    ext = R.ExternFunc("symbol")

    @R.function(private=True)
    def unused(x: R.Tensor((2,), "float32")):
        return x

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        return x
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    ext = R.ExternFunc("symbol")

    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        return x
