# SPDX-License-Identifier: Apache-2.0
# passes: BindSymbolicVars{binding_map={"Module['main'].params[0].ty.shape[1]": 16}}
# error: is 4, not a symbolic variable
# at: 9
# A place that holds no variable.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("m", 4), dtype="float32")):
        return x
