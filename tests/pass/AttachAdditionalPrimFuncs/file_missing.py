# SPDX-License-Identifier: Apache-2.0
# A file that is not there is an error.
# passes: AttachAdditionalPrimFuncs{functions=["@DIR@/../../llm/functions/nowhere.py"]}
# error: nowhere.py
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
