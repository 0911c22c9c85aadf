# SPDX-License-Identifier: Apache-2.0
# Hidden states are the first field of a tuple.
# passes: AttachSpecDecodeAuxFuncs{kernels="@DIR@/../../llm/functions/served.py"}
# error: gives no tuple whose first field is a tensor of floats
@I.ir_module
class Before:
    @R.function
    def batch_verify(x: R.Tensor((1, 4), "float32")):
        return x

    @R.function
    def prefill_to_last_hidden_states(x: R.Tensor((1, 4), "float32")):
        return x
