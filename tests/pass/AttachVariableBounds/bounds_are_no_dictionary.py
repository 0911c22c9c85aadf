# SPDX-License-Identifier: Apache-2.0
# The option is checked.
# passes: AttachVariableBounds{variable_bounds=["n", 4]}
# error: expected a dictionary from names of symbolic variables to integers
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
