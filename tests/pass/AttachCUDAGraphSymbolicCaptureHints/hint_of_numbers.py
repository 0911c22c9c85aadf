# SPDX-License-Identifier: Apache-2.0
# A list of something else is no hint.
# passes: AttachCUDAGraphSymbolicCaptureHints{hints={"main": ["n", 4]}}
# error: expected a list of names of symbolic variables
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
