# SPDX-License-Identifier: Apache-2.0
# Any number is attached, as upstream does it; PipelineParallelRewrite refuses those below 1.
# passes: AttachPipelineParallelStages{pipeline_parallel_shards=0}
@I.ir_module
class Before:
    @R.function
    def decode(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def decode(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"pipeline_parallel_stages": 0})
        return x
