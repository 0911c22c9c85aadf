# SPDX-License-Identifier: Apache-2.0
# All the attributes named go, of tensor programs and graph functions; others stay.
# passes: CleanUpTIRAttrs{attrs=["op_pattern", "note"]}
@I.ir_module
class Before:
    @T.prim_func
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"op_pattern": 0, "note": 1, "tirx.noalias": True})
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        R.func_attr({"note": 2, "other": 3})
        cls = Before
        with R.dataflow():
            gv = R.add(x, x)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2.0)

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"other": 3})
        with R.dataflow():
            gv: R.Tensor((4,), dtype="float32") = R.add(x, x)
            R.output(gv)
        return gv
