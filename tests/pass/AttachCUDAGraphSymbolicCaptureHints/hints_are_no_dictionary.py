# SPDX-License-Identifier: Apache-2.0
# The option is checked.
# passes: AttachCUDAGraphSymbolicCaptureHints{hints=["n"]}
# error: expected a dictionary from names of functions to lists of symbolic variables
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
