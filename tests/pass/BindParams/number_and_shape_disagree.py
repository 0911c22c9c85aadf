# SPDX-License-Identifier: Apache-2.0
# passes: BindParams{func_name="main", params={"n": 4, "a": "@@DIR@/b.npy"}}
# error: symbolic variable 'n' of function 'main' is bound to 4, but the value of 'a' makes it 3
@I.ir_module
class Before:
    @R.function
    def main(n: R.Prim("int64"), a: R.Tensor(("n",), "float32")):
        return a
