# SPDX-License-Identifier: Apache-2.0
# passes: DeadCodeElimination{entry_functions=["nowhere"]}
# error: the module has no function 'nowhere'
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return x
