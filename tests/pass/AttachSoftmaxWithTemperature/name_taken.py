# SPDX-License-Identifier: Apache-2.0
# A name that the file's functions have is an error.
# passes: AttachSoftmaxWithTemperature{kernels="@DIR@/../../llm/functions/served.py"}
# error: the module has a function 'scatter_probs' already
@I.ir_module
class Before:
    @R.function
    def batch_verify(x: R.Tensor((1, 4), "float32")):
        return x

    @R.function
    def scatter_probs(x: R.Tensor((1, 4), "float32")):
        return x

