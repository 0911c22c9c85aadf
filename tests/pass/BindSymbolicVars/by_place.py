# SPDX-License-Identifier: Apache-2.0
# passes: BindSymbolicVars{binding_map={"Module['first'].params[0].ty.shape[1]": 16}}
# A variable named by its place is that of one function.
@I.ir_module
class Before:
    @R.function
    def first(x: R.Tensor(("m", "n"), dtype="float32")):
        return x

    @R.function
    def second(x: R.Tensor(("m", "n"), dtype="float32")):
        return x
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def first(x: R.Tensor(("m", 16), dtype="float32")) -> R.Tensor(("m", 16), dtype="float32"):
        m = T.int64()
        return x

    @R.function
    def second(x: R.Tensor(("m", "n"), dtype="float32")) -> R.Tensor(("m", "n"), dtype="float32"):
        m = T.int64()
        n = T.int64()
        return x
