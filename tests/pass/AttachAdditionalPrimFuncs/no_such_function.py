# SPDX-License-Identifier: Apache-2.0
# passes: AttachAdditionalPrimFuncs{functions={"copy_kv": "@DIR@/../../llm/functions/copy.py:copy_none"}}
# error: has no function 'copy_none', which is to be 'copy_kv'
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
