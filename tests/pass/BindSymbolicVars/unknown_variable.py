# SPDX-License-Identifier: Apache-2.0
# passes: BindSymbolicVars{binding_map={"q": 16}}
# error: no function of the module has a symbolic variable 'q'
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        return x
