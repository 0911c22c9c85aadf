# SPDX-License-Identifier: Apache-2.0
# A match_cast to extents that parameters have checks them: its variable stays, and so do the shapes behind it.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("b", "n"), "float32"), y: R.Tensor(("m", "m"), "float32")):
        b = T.int64()
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            lv = R.exp(x)
            mc = R.match_cast(y, R.Tensor((b, n), "float32"))
            gv = R.add(lv, mc)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(("b", "n"), dtype="float32"), y: R.Tensor(("m", "m"), dtype="float32")) -> R.Tensor(("b", "n"), dtype="float32"):
        b = T.int64()
        n = T.int64()
        with R.dataflow():
            lv: R.Tensor((b, n), dtype="float32") = R.exp(x)
            mc = R.match_cast(y, R.Tensor((b, n), dtype="float32"))
            gv: R.Tensor((b, n), dtype="float32") = R.add(lv, mc)
            R.output(gv)
        return gv
