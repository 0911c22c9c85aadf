# SPDX-License-Identifier: Apache-2.0
# What cannot hold for any extents is an error.
# error: tensors 0 and 1 differ along axis 0: n and n + 1
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n + 1", 4), "float32")):
        n = T.int64()
        z = R.concat((x, y), axis=1)
        return z
