# SPDX-License-Identifier: Apache-2.0
# A field of the packed weights is fetched outside of the groups, that of another tuple inside.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def add(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32"), z: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"op_pattern": 0})
        for i in range(T.int64(4)):
            with T.sblock("add"):
                vi = T.axis.spatial(T.int64(4), i)
                z[vi] = x[vi] + y[vi]

    @R.function
    def main(x: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")), params: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))) -> R.Tensor((4,), "float32"):
        R.func_attr({"num_input": 1})
        cls = Before
        with R.dataflow():
            a = x[0]
            w = params[1]
            b = R.call_tir(cls.add, (a, w), out_ty=R.Tensor((4,), "float32"))
            gv = R.call_tir(cls.add, (b, w), out_ty=R.Tensor((4,), "float32"))
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def add(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32"), z: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"op_pattern": 0})
        # with T.sblock("root"):
        for i in range(T.int64(4)):
            with T.sblock("add"):
                vi = T.axis.remap("S", [i])
                T.reads(x[vi], y[vi])
                T.writes(z[vi])
                z[vi] = x[vi] + y[vi]

    @R.function(private=True)
    def fused_add_add(x_0: R.Tensor((4,), dtype="float32"), w: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Primitive": True})
        cls = Expected
        with R.dataflow():
            b = R.call_tir(cls.add, (x_0, w), out_ty=R.Tensor((4,), dtype="float32"))
            gv = R.call_tir(cls.add, (b, w), out_ty=R.Tensor((4,), dtype="float32"))
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")), params: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32"))) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"num_input": 1})
        cls = Expected
        with R.dataflow():
            w: R.Tensor((4,), dtype="float32") = params[1]
            lv: R.Tensor((4,), dtype="float32") = x[0]
            gv: R.Tensor((4,), dtype="float32") = cls.fused_add_add(lv, w)
            R.output(gv)
        return gv
