# SPDX-License-Identifier: Apache-2.0
# passes: DecomposeOpsForInference{func_name="mein"}
# error: the module has no graph function 'mein'
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        return x
