# SPDX-License-Identifier: Apache-2.0
# A graph function.
@I.ir_module
class Graph:
    @R.function
    def identity(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        return x
