# SPDX-License-Identifier: Apache-2.0
# A graph function of that name is replaced, as upstream does it.
# passes: AttachAdditionalPrimFuncs{functions=["@DIR@/../../llm/functions/scale.py"]}
@I.ir_module
class Before:
    @R.function
    def twice(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] + x[i]
