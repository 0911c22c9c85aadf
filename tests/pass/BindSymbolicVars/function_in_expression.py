# SPDX-License-Identifier: Apache-2.0
# passes: BindSymbolicVars{binding_map={"n": "T.min(k * 2, 8)"}}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("k",), "float32")):
        return x
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(("T.min(k * 2, 8)",), dtype="float32"), y: R.Tensor(("k",), dtype="float32")) -> R.Tensor(("T.min(k * 2, 8)",), dtype="float32"):
        k = T.int64()
        return x
