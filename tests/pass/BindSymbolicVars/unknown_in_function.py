# SPDX-License-Identifier: Apache-2.0
# passes: BindSymbolicVars{binding_map={"q": 16}, func_name="main"}
# error: function 'main' has no symbolic variable 'q'
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        return x
