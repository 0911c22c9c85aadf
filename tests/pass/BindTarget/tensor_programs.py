# SPDX-License-Identifier: Apache-2.0
# Tensor programs get the run's target, unless they have one; graph functions do not.
# target: {"kind": "acme", "cores": 4}
# passes: BindTarget
@I.ir_module
class Before:
    @T.prim_func
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2)

    @T.prim_func
    def own(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"target": T.target({"kind": "other"})})
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
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
    def own(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"target": T.target("other")})
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2.0)

    @T.prim_func
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"target": T.target({"kind": "acme", "cores": 4}), "tirx.noalias": True})
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2.0)

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((4,), dtype="float32") = R.add(x, x)
            R.output(gv)
        return gv
