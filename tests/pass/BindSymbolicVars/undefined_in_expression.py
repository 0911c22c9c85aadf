# SPDX-License-Identifier: Apache-2.0
# passes: BindSymbolicVars{binding_map={"n": "k * 2"}}
# error: k
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        return x
