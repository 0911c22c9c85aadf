# SPDX-License-Identifier: Apache-2.0
# passes: EliminateCommonSubexpr{call_only=true}
# Only calls are merged.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.add(x, y)
            t = (a, x)
            u = (a, x)
            t0 = t[0]
            u0 = u[0]
            gv = R.add(R.add(t0, u0), b)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            a: R.Tensor((4,), dtype="float32") = R.add(x, y)
            b: R.Tensor((4,), dtype="float32") = a
            t: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")) = (a, x)
            u: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")) = (a, x)
            t0: R.Tensor((4,), dtype="float32") = t[0]
            u0: R.Tensor((4,), dtype="float32") = u[0]
            lv: R.Tensor((4,), dtype="float32") = R.add(t0, u0)
            gv: R.Tensor((4,), dtype="float32") = R.add(lv, a)
            R.output(gv)
        return gv
