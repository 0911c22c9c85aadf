# SPDX-License-Identifier: Apache-2.0
# passes: BindParams{func_name="main", params={"v": "@@DIR@/b.npy"}}
# error: function 'main' has no parameter 'v'
# note: its parameters: x, w
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((3,), "float32"), w: R.Tensor((3,), "float32")):
        return R.add(x, w)
