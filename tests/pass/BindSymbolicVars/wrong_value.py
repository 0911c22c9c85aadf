# SPDX-License-Identifier: Apache-2.0
# passes: BindSymbolicVars{binding_map={"n": [1]}}
# error: symbolic variable 'n' can be bound to an integer or an expression
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        return x
