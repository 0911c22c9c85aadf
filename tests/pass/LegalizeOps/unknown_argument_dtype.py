# SPDX-License-Identifier: Apache-2.0
# The element type of an operand is not known, though the result has one.
# error: relax.isnan becomes a tensor program
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32"), u: R.Tensor((4,))):
        gv = R.isnan(u)
        return gv
