# SPDX-License-Identifier: Apache-2.0
# passes: BindParams{func_name="main", params={"a": "@@DIR@/b.npy", "w": "@@DIR@/w.npy"}}
# error: symbolic variable 'n' of function 'main' is bound to 3, but the value of 'w' makes it 2
@I.ir_module
class Before:
    @R.function
    def main(a: R.Tensor(("n",), "float32"), w: R.Tensor(("n", "m"), "float32")):
        return (a, w)
