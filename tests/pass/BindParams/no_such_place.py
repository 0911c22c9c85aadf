# SPDX-License-Identifier: Apache-2.0
# passes: BindParams{func_name="main", params={"Module['main'].params[2]": "@@DIR@/b.npy"}}
# error: function 'main' has no parameter 'Module['main'].params[2]'
# note: its parameters: x, w
# A place that the function does not have.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((3,), dtype="float32"), w: R.Tensor((3,), dtype="float32")):
        return R.add(x, w)
