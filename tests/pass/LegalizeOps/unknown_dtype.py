# SPDX-License-Identifier: Apache-2.0
# A program has element types: one that is not known is an error.
# error: the element types of its operands have to be known
@I.ir_module
class Before:
    @R.function
    def main(a: R.Tensor((4, 8)), b: R.Tensor((8, 2))) -> R.Tensor((4, 2)):
        gv: R.Tensor((4, 2)) = R.matmul(a, b)
        return gv
