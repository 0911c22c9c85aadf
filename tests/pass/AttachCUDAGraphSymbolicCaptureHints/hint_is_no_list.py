# SPDX-License-Identifier: Apache-2.0
# So is each hint.
# passes: AttachCUDAGraphSymbolicCaptureHints{hints={"main": "n"}}
# error: the hint of 'main' is "n", expected a list of names of symbolic variables
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
