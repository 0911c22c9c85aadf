# SPDX-License-Identifier: Apache-2.0
# Fields of a tuple from outside, the tuple itself not used in the group: each field is bound before the call and becomes a parameter.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def halves(x: T.Buffer((T.int64(8),), "float32"), y: T.Buffer((T.int64(4),), "float32"), z: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"op_pattern": 8})
        for i in range(T.int64(4)):
            with T.sblock("low"):
                vi = T.axis.spatial(4, i)
                y[vi] = x[vi]
        for i in range(T.int64(4)):
            with T.sblock("high"):
                vi = T.axis.spatial(4, i)
                z[vi] = x[vi + T.int64(4)]

    @T.prim_func(private=True, s_tir=True)
    def add(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32"), z: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"op_pattern": 0})
        for i in range(T.int64(4)):
            with T.sblock("add"):
                vi = T.axis.spatial(4, i)
                z[vi] = x[vi] + y[vi]

    @R.function
    def main(x: R.Tensor((8,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Before
        with R.dataflow():
            lv = R.call_tir(cls.halves, (x,), out_ty=[R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")])
            lv1 = lv[0]
            lv2 = lv[1]
            lv3 = R.call_tir(cls.add, (lv1, lv2), out_ty=R.Tensor((4,), dtype="float32"))
            gv = R.call_tir(cls.add, (lv3, lv1), out_ty=R.Tensor((4,), dtype="float32"))
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

    @T.prim_func(private=True, s_tir=True)
    def halves(x: T.Buffer((T.int64(8),), "float32"), y: T.Buffer((T.int64(4),), "float32"), z: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"op_pattern": 8})
        # with T.sblock("root"):
        for i in range(T.int64(4)):
            with T.sblock("low"):
                vi = T.axis.spatial(4, i)
                T.reads(x[vi])
                T.writes(y[vi])
                y[vi] = x[vi]
        for i_1 in range(T.int64(4)):
            with T.sblock("high"):
                vi_1 = T.axis.spatial(4, i_1)
                T.reads(x[T.Cast("int64", vi_1) + T.int64(4)])
                T.writes(z[vi_1])
                z[vi_1] = x[T.Cast("int64", vi_1) + T.int64(4)]

    @R.function(private=True)
    def fused_add_add(lv_0: R.Tensor((4,), dtype="float32"), lv_1: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Primitive": True})
        cls = Expected
        with R.dataflow():
            lv3 = R.call_tir(cls.add, (lv_0, lv_1), out_ty=R.Tensor((4,), dtype="float32"))
            gv = R.call_tir(cls.add, (lv3, lv_0), out_ty=R.Tensor((4,), dtype="float32"))
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((8,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            lv = R.call_tir(cls.halves, (x,), out_ty=[R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")])
            lv_1: R.Tensor((4,), dtype="float32") = lv[0]
            lv_2: R.Tensor((4,), dtype="float32") = lv[1]
            gv: R.Tensor((4,), dtype="float32") = cls.fused_add_add(lv_1, lv_2)
            R.output(gv)
        return gv
