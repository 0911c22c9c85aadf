# SPDX-License-Identifier: Apache-2.0
# Nor without batch_verify.
# target: cuda
# passes: AttachGPUSamplingFunc{kernels="@DIR@/../../llm/functions/graph.py"}
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
    def main(x: R.Tensor((1, 4), dtype="float32")) -> R.Tensor((1, 4), dtype="float32"):
        return x
