# SPDX-License-Identifier: Apache-2.0
# So is one that is no TVMScript.
# passes: AttachAdditionalPrimFuncs{functions=["@DIR@/../../llm/functions/broken.py"]}
# error: expected
# note: AttachAdditionalPrimFuncs reads this file
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
