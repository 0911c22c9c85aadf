# SPDX-License-Identifier: Apache-2.0
# A local function that nobody calls does nothing, whatever is in it; a call of it stays.
@I.ir_module
class Before:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        @R.function(pure=False)
        def unused(z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.call_packed("test.effect", z, ty_args=R.Tensor((4,), "float32"))
            return y

        @R.function(pure=False)
        def called(z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.call_packed("test.effect", z, ty_args=R.Tensor((4,), "float32"))
            return y

        dropped = called(x)
        return x
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        @R.function(pure=False)
        def called(z: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            y: R.Tensor((4,), dtype="float32") = R.call_packed("test.effect", z, ty_args=(R.Tensor((4,), dtype="float32"),))
            return y
        dropped: R.Tensor((4,), dtype="float32") = called(x)
        return x
