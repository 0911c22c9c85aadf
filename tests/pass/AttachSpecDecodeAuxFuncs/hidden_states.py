# SPDX-License-Identifier: Apache-2.0
# With hidden states all functions are added, in the dtype of these.
# passes: AttachSpecDecodeAuxFuncs{kernels="@DIR@/../../llm/functions/served.py"}
@I.ir_module
class Before:
    @R.function
    def batch_verify(x: R.Tensor((1, 4), "float32")):
        return x

    @R.function
    def prefill_to_last_hidden_states(x: R.Tensor((1, 4), "float32")) -> R.Tuple(R.Tensor((1, 4), "float32"), R.Tensor((1, 4), "float32")):
        return (x, x)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func
    def scatter_hidden_states(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            y[i] = x[i]

    @T.prim_func
    def scatter_probs(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            y[i] = x[i] + T.float32(0.0)

    @R.function
    def batch_verify(x: R.Tensor((1, 4), dtype="float32")) -> R.Tensor((1, 4), dtype="float32"):
        return x

    @R.function
    def prefill_to_last_hidden_states(x: R.Tensor((1, 4), dtype="float32")) -> R.Tuple(R.Tensor((1, 4), dtype="float32"), R.Tensor((1, 4), dtype="float32")):
        return (x, x)
