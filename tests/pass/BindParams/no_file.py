# SPDX-License-Identifier: Apache-2.0
# passes: BindParams{func_name="main", params={"a": "@@DIR@/none.npy"}}
# error: none.npy
@I.ir_module
class Before:
    @R.function
    def main(a: R.Tensor((3,), "float32")):
        return a
