# SPDX-License-Identifier: Apache-2.0
# Without batch_verify nothing is added.
# passes: AttachSpecDecodeAuxFuncs{kernels="@DIR@/../../llm/functions/served.py"}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 4), "float32")):
        return x

    @R.function
    def prefill_to_last_hidden_states(x: R.Tensor((1, 4), "float32")) -> R.Tuple(R.Tensor((1, 4), "float32"), R.Tensor((1, 4), "float32")):
        return (x, x)
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def prefill_to_last_hidden_states(x: R.Tensor((1, 4), dtype="float32")) -> R.Tuple(R.Tensor((1, 4), dtype="float32"), R.Tensor((1, 4), dtype="float32")):
        return (x, x)

    @R.function
    def main(x: R.Tensor((1, 4), dtype="float32")) -> R.Tensor((1, 4), dtype="float32"):
        return x
