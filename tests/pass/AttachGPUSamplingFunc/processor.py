# SPDX-License-Identifier: Apache-2.0
# For a processor nothing is added.
# target: llvm
# passes: AttachGPUSamplingFunc{kernels="@DIR@/../../llm/functions/graph.py"}
@I.ir_module
class Before:
    @R.function
    def batch_verify(x: R.Tensor((1, 4), "float32")):
        return x

# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def batch_verify(x: R.Tensor((1, 4), dtype="float32")) -> R.Tensor((1, 4), dtype="float32"):
        return x
