# SPDX-License-Identifier: Apache-2.0
# passes: BindSymbolicVars{binding_map={"n": "n == 2"}}
# error: is an integer; the expression is of bool
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        return x
