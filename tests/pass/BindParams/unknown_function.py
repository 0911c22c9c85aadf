# SPDX-License-Identifier: Apache-2.0
# passes: BindParams{func_name="mein", params={}}
# error: the module has no graph function 'mein'
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        return x
