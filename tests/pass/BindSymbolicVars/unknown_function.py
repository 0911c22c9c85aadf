# SPDX-License-Identifier: Apache-2.0
# passes: BindSymbolicVars{binding_map={"n": 16}, func_name="mein"}
# error: the module has no graph function 'mein'
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        return x
