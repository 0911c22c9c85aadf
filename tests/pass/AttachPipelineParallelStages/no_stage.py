# SPDX-License-Identifier: Apache-2.0
# There is at least one stage.
# passes: AttachPipelineParallelStages{pipeline_parallel_shards=0}
# error: pipeline_parallel_shards is 0, but a number from 1 is wanted
@I.ir_module
class Before:
    @R.function
    def decode(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
