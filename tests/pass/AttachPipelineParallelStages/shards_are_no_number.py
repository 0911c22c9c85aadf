# SPDX-License-Identifier: Apache-2.0
# The option is checked.
# passes: AttachPipelineParallelStages{pipeline_parallel_shards="two"}
# error: pipeline_parallel_shards
@I.ir_module
class Before:
    @R.function
    def decode(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
