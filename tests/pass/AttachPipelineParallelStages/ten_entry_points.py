# SPDX-License-Identifier: Apache-2.0
# The ten entry points get the number of stages.
# passes: AttachPipelineParallelStages{pipeline_parallel_shards=4}
@I.ir_module
class Before:
    @R.function
    def prefill(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x

    @R.function
    def decode(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x

    @R.function
    def prefill_to_last_hidden_states(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x

    @R.function
    def decode_to_last_hidden_states(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x

    @R.function
    def batch_prefill(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x

    @R.function
    def batch_decode(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x

    @R.function
    def batch_verify(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x

    @R.function
    def batch_prefill_to_last_hidden_states(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x

    @R.function
    def batch_decode_to_last_hidden_states(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x

    @R.function
    def batch_verify_to_last_hidden_states(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def batch_decode(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"pipeline_parallel_stages": 4})
        return x

    @R.function
    def batch_decode_to_last_hidden_states(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"pipeline_parallel_stages": 4})
        return x

    @R.function
    def batch_prefill(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"pipeline_parallel_stages": 4})
        return x

    @R.function
    def batch_prefill_to_last_hidden_states(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"pipeline_parallel_stages": 4})
        return x

    @R.function
    def batch_verify(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"pipeline_parallel_stages": 4})
        return x

    @R.function
    def batch_verify_to_last_hidden_states(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"pipeline_parallel_stages": 4})
        return x

    @R.function
    def decode(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"pipeline_parallel_stages": 4})
        return x

    @R.function
    def decode_to_last_hidden_states(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"pipeline_parallel_stages": 4})
        return x

    @R.function
    def prefill(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"pipeline_parallel_stages": 4})
        return x

    @R.function
    def prefill_to_last_hidden_states(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"pipeline_parallel_stages": 4})
        return x
