# SPDX-License-Identifier: Apache-2.0
# The element type of the result is not known, though those of all operands are.
# error: relax.astype becomes a tensor program
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32"), u: R.Tensor((4,))):
        gv = R.astype(x, dtype="void")
        return gv
