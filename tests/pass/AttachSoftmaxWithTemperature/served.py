# SPDX-License-Identifier: Apache-2.0
# A module with batch_verify gets the file's functions, read with the number of tokens that count.
# passes: AttachSoftmaxWithTemperature{kernels="@DIR@/../../llm/functions/served.py", active_vocab_size=5}
@I.ir_module
class Before:
    @R.function
    def batch_verify(x: R.Tensor((1, 4), "float32")):
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

    @T.prim_func
    def scatter_probs(x: T.Buffer((4,), "float16"), y: T.Buffer((4,), "float16")):
        for i in range(4):
            y[i] = x[i] + T.float16(5.0)

    @R.function
    def batch_verify(x: R.Tensor((1, 4), dtype="float32")) -> R.Tensor((1, 4), dtype="float32"):
        return x
