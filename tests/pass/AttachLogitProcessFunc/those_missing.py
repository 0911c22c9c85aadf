# SPDX-License-Identifier: Apache-2.0
# Functions that the module has stay; the others are added.
# passes: AttachLogitProcessFunc{kernels="@DIR@/../../llm/functions/served.py"}
@I.ir_module
class Before:
    @R.function
    def batch_verify(x: R.Tensor((1, 4), "float32")):
        return x

    @R.function
    def scatter_probs(x: R.Tensor((1, 4), "float32")):
        return x

# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func
    def scatter_hidden_states(x: T.Buffer((4,), "float16"), y: T.Buffer((4,), "float16")):
        for i in range(4):
            y[i] = x[i]

    @R.function
    def batch_verify(x: R.Tensor((1, 4), dtype="float32")) -> R.Tensor((1, 4), dtype="float32"):
        return x

    @R.function
    def scatter_probs(x: R.Tensor((1, 4), dtype="float32")) -> R.Tensor((1, 4), dtype="float32"):
        return x
