# SPDX-License-Identifier: Apache-2.0
# passes: AttachAdditionalPrimFuncs{functions=3}
# error: functions is 3, expected a list of files or a dictionary
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
