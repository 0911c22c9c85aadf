# SPDX-License-Identifier: Apache-2.0
# A dictionary gives functions of files their names in the module; a name that is there is taken over.
# passes: AttachAdditionalPrimFuncs{functions={"copy_kv": "@DIR@/../../llm/functions/copy.py:copy_single", "main": "@DIR@/../../llm/functions/scale.py"}}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def copy_kv(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i]

    @T.prim_func
    def main(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] + x[i]
