# SPDX-License-Identifier: Apache-2.0
# Bindings inside branches and local functions count likewise; an unused local function goes.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32"), cond: R.Tensor((), "bool")):
        @R.function
        def used(z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            dead = R.log(z)
            return R.exp(z)

        @R.function
        def unused(z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return R.exp(z)

        if cond:
            a = R.sin(x)
            out = used(x)
        else:
            b = R.cos(x)
            out = R.add(x, b)
        if cond:
            never = R.sin(x)
        else:
            never = R.cos(x)
        return out
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), cond: R.Tensor((), dtype="bool")) -> R.Tensor((4,), dtype="float32"):
        @R.function
        def used(z: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            gv: R.Tensor((4,), dtype="float32") = R.exp(z)
            return gv
        if cond:
            out_then: R.Tensor((4,), dtype="float32") = used(x)
            out: R.Tensor((4,), dtype="float32") = out_then
        else:
            b: R.Tensor((4,), dtype="float32") = R.cos(x)
            out_else: R.Tensor((4,), dtype="float32") = R.add(x, b)
            out: R.Tensor((4,), dtype="float32") = out_else
        return out
