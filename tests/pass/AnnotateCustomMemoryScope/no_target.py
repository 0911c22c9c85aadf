# SPDX-License-Identifier: Apache-2.0
# error: AnnotateCustomMemoryScope needs a target
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 8, 16, 16, 4), "float32")):
        return x
