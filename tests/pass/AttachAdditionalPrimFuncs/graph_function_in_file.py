# SPDX-License-Identifier: Apache-2.0
# Graph functions cannot be added.
# passes: AttachAdditionalPrimFuncs{functions=["@DIR@/../../llm/functions/graph.py"]}
# error: 'identity' is no tensor program
# at: 6
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
