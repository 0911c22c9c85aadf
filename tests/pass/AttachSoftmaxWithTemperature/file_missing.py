# SPDX-License-Identifier: Apache-2.0
# No such file.
# passes: AttachSoftmaxWithTemperature{kernels="@DIR@/nowhere.py"}
# error: No such file
@I.ir_module
class Before:
    @R.function
    def batch_verify(x: R.Tensor((1, 4), "float32")):
        return x

