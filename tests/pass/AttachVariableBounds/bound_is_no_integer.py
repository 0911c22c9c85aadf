# SPDX-License-Identifier: Apache-2.0
# So is each bound.
# passes: AttachVariableBounds{variable_bounds={"n": "many"}}
# error: the bound of 'n' is "many", expected an integer
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
