# SPDX-License-Identifier: Apache-2.0
# passes: BindParams{func_name="main", params={"w": "@@DIR@/b.npy"}}
# error: parameter 'w' of function 'main' is R.Tensor((4,), dtype="float32") and cannot be bound to R.Tensor((3,), dtype="float32")
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
        return R.add(x, w)
