# SPDX-License-Identifier: Apache-2.0
# Functions get bounds by the batch that batch_verify may have.
# target: vulkan
# passes: AttachGPUSamplingFunc{kernels="@DIR@/../../llm/functions/graph.py"}
@I.ir_module
class Before:
    @R.function
    def batch_verify(x: R.Tensor((1, 4), "float32")):
        R.func_attr({"tir_var_upper_bound": {"batch_size": 5}})
        return x

# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def batch_verify(x: R.Tensor((1, 4), dtype="float32")) -> R.Tensor((1, 4), dtype="float32"):
        R.func_attr({"tir_var_upper_bound": {"batch_size": 5}})
        return x

    @R.function
    def identity(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"tir_non_negative_var": ["vocab_size"], "tir_var_upper_bound": {"batch_size": 5, "num_positions": 30, "num_samples": 5}})
        return x
