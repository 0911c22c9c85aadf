# SPDX-License-Identifier: Apache-2.0
# A symbol that a match_cast defines, and which the result's type would use, is no unknown one.
# passes: BindSymbolicVars{binding_map={"n": 4}}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", "m"), dtype="float32")):
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            k = T.int64()
            lv = R.match_cast(x, R.Tensor((k, m), dtype="float32"))
            gv = R.exp(lv)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4, "m"), dtype="float32")) -> R.Tensor(dtype="float32", ndim=2):
        m = T.int64()
        with R.dataflow():
            k = T.int64()
            lv = R.match_cast(x, R.Tensor((k, m), dtype="float32"))
            gv: R.Tensor((k, m), dtype="float32") = R.exp(lv)
            R.output(gv)
        return gv
