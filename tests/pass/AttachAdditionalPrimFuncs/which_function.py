# SPDX-License-Identifier: Apache-2.0
# passes: AttachAdditionalPrimFuncs{functions={"copy_kv": "@DIR@/../../llm/functions/copy.py"}}
# error: has 2 functions, which of them is to be
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
