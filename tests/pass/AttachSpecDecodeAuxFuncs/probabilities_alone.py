# SPDX-License-Identifier: Apache-2.0
# Without, those on probabilities.
# passes: AttachSpecDecodeAuxFuncs{kernels="@DIR@/../../llm/functions/served.py", always=True}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 4), "float32")):
        return x

# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func
    def scatter_probs(x: T.Buffer((4,), "float16"), y: T.Buffer((4,), "float16")):
        for i in range(4):
            y[i] = x[i] + T.float16(0.0)

    @R.function
    def main(x: R.Tensor((1, 4), dtype="float32")) -> R.Tensor((1, 4), dtype="float32"):
        return x
