# SPDX-License-Identifier: Apache-2.0
# Without batch_verify by the option alone, and without bounds.
# target: cuda
# passes: AttachGPUSamplingFunc{kernels="@DIR@/../../llm/functions/graph.py", always=True}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 4), "float32")):
        return x

# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def identity(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        return x

    @R.function
    def main(x: R.Tensor((1, 4), dtype="float32")) -> R.Tensor((1, 4), dtype="float32"):
        return x
