# SPDX-License-Identifier: Apache-2.0
# A graph function is not replaced.
# passes: AttachAdditionalPrimFuncs{functions=["@DIR@/../../llm/functions/scale.py"]}
# error: 'twice' of
@I.ir_module
class Before:
    @R.function
    def twice(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
