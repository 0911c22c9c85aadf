# SPDX-License-Identifier: Apache-2.0
# passes: BindSymbolicVars{binding_map={"n": 16}, func_name="main"}
# Only the function named.
@I.ir_module
class Before:
    @R.function
    def other(y: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return y

    @R.function
    def main(x: R.Tensor(("n", "m"), "float32")):
        return x
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def other(y: R.Tensor(("n",), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):
        n = T.int64()
        return y

    @R.function
    def main(x: R.Tensor((16, "m"), dtype="float32")) -> R.Tensor((16, "m"), dtype="float32"):
        m = T.int64()
        return x
