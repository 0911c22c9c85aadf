# SPDX-License-Identifier: Apache-2.0
# Local functions have no form in the virtual machine.
# error: function 'main' holds a local function
# at: 10
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        @R.function
        def inner(z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            R.func_attr({"relax.force_pure": True})
            y = R.exp(z)
            return y

        R.func_attr({"relax.force_pure": True})
        y = inner(x)
        return y
