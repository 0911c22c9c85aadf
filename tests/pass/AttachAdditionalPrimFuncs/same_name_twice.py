# SPDX-License-Identifier: Apache-2.0
# A name may come from one file only.
# passes: AttachAdditionalPrimFuncs{functions=["@DIR@/../../llm/functions/scale.py", "@DIR@/../../llm/functions/scale_again.py"]}
# error: also in
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
