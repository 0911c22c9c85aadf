# SPDX-License-Identifier: Apache-2.0
# Fields of one place in two tuples are two parameters.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def add(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32"), z: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"op_pattern": 0})
        for i in range(T.int64(4)):
            with T.sblock("add"):
                vi = T.axis.spatial(4, i)
                z[vi] = x[vi] + y[vi]

    @R.function
    def main(s: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")), t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))) -> R.Tensor((4,), "float32"):
        cls = Before
        with R.dataflow():
            lv1 = s[0]
            lv2 = t[0]
            lv3 = R.call_tir(cls.add, (lv1, lv2), out_ty=R.Tensor((4,), "float32"))
            gv = R.call_tir(cls.add, (lv3, lv1), out_ty=R.Tensor((4,), "float32"))
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
                vi = T.axis.spatial(4, i)
                T.reads(x[vi], y[vi])
                T.writes(z[vi])
                z[vi] = x[vi] + y[vi]

    @R.function(private=True)
    def fused_add_add(s_0: R.Tensor((4,), dtype="float32"), t_0: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Primitive": True})
        cls = Expected
        with R.dataflow():
            lv3 = R.call_tir(cls.add, (s_0, t_0), out_ty=R.Tensor((4,), dtype="float32"))
            gv = R.call_tir(cls.add, (lv3, s_0), out_ty=R.Tensor((4,), dtype="float32"))
            R.output(gv)
        return gv

    @R.function
    def main(s: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")), t: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32"))) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            lv: R.Tensor((4,), dtype="float32") = s[0]
            lv_1: R.Tensor((4,), dtype="float32") = t[0]
            gv: R.Tensor((4,), dtype="float32") = cls.fused_add_add(lv, lv_1)
            R.output(gv)
        return gv
