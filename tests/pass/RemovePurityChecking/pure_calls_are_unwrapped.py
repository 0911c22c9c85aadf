# SPDX-License-Identifier: Apache-2.0
# Calls marked as pure become plain ones; the function says that it is pure all the same.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        y: R.Tensor((4,), dtype="float32") = R.call_pure_packed("helper", x, R.prim_value(3), ty_args=(R.Tensor((4,), dtype="float32"),))
        z: R.Tensor((4,), dtype="float32") = R.call_inplace_packed("helper_inplace", y, inplace_indices=[0], ty_args=(R.Tensor((4,), dtype="float32"),))
        return z

    @R.function(pure=False)
    def talks(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        y: R.Tensor((4,), dtype="float32") = R.call_pure_packed("helper", x, ty_args=(R.Tensor((4,), dtype="float32"),))
        _: R.Tuple = R.print(y, format="{}")
        return y


# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(pure=False)
    def talks(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        y: R.Tensor((4,), dtype="float32") = R.call_packed("helper", x, ty_args=(R.Tensor((4,), dtype="float32"),))
        R.print(y, format="{}")
        return y

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"relax.force_pure": True})
        y: R.Tensor((4,), dtype="float32") = R.call_packed("helper", x, R.prim_value(3), ty_args=(R.Tensor((4,), dtype="float32"),))
        z: R.Tensor((4,), dtype="float32") = R.call_packed("helper_inplace", y, ty_args=(R.Tensor((4,), dtype="float32"),))
        return z
