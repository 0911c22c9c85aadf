# SPDX-License-Identifier: Apache-2.0
# An argument that the group writes and does not return is written by its program too: the call says so, with a result that nobody uses.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def bump(x: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("bump"):
                vi = T.axis.spatial(T.int64(4), i)
                x[vi] = x[vi] + T.float32(1)

    @T.prim_func(private=True, s_tir=True)
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("twice"):
                vi = T.axis.spatial(T.int64(4), i)
                y[vi] = x[vi] * T.float32(2)

    @R.function(private=True)
    def fused(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"Primitive": True})
        cls = Before
        with R.dataflow():
            a = R.call_tir_inplace(cls.bump, (x,), inplace_indices=[0], out_ty=R.Tensor((4,), "float32"))
            gv = R.call_tir(cls.twice, (a,), out_ty=R.Tensor((4,), "float32"))
            R.output(gv)
        return gv

    @R.function(private=True)
    def fused_pair(x: R.Tensor((4,), "float32"), z: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        R.func_attr({"Primitive": True})
        cls = Before
        with R.dataflow():
            a = R.call_tir_inplace(cls.bump, (x,), inplace_indices=[0], out_ty=R.Tensor((4,), "float32"))
            b = R.call_tir_inplace(cls.bump, (z,), inplace_indices=[0], out_ty=R.Tensor((4,), "float32"))
            c = R.call_tir(cls.twice, (b,), out_ty=R.Tensor((4,), "float32"))
            gv = (c, a)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        cls = Before
        with R.dataflow():
            lv = R.call_tir(cls.twice, (x,), out_ty=R.Tensor((4,), "float32"))
            lv1 = R.call_tir(cls.twice, (y,), out_ty=R.Tensor((4,), "float32"))
            lv2 = R.call_tir(cls.twice, (lv1,), out_ty=R.Tensor((4,), "float32"))
            lv3: R.Tensor((4,), "float32") = cls.fused(lv)
            lv4: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")) = cls.fused_pair(lv1, lv2)
            lv5: R.Tensor((4,), "float32") = lv4[0]
            lv6: R.Tensor((4,), "float32") = lv4[1]
            gv: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"), R.Tensor((4,), "float32")) = (lv3, lv5, lv6)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def fused(x: T.Buffer((T.int64(4),), "float32"), p_output0: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for i in range(T.int64(4)):
            with T.sblock("bump"):
                vi = T.axis.remap("S", [i])
                T.reads(x[vi])
                T.writes(x[vi])
                x[vi] = x[vi] + T.float32(1.0)
        for i_1 in range(T.int64(4)):
            with T.sblock("twice"):
                vi_1 = T.axis.remap("S", [i_1])
                T.reads(x[vi_1])
                T.writes(p_output0[vi_1])
                p_output0[vi_1] = x[vi_1] * T.float32(2.0)

    @T.prim_func(private=True, s_tir=True)
    def fused_pair(x: T.Buffer((T.int64(4),), "float32"), z: T.Buffer((T.int64(4),), "float32"), p_output0: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for i in range(T.int64(4)):
            with T.sblock("bump"):
                vi = T.axis.remap("S", [i])
                T.reads(x[vi])
                T.writes(x[vi])
                x[vi] = x[vi] + T.float32(1.0)
        for i_1 in range(T.int64(4)):
            with T.sblock("bump1"):
                vi_1 = T.axis.remap("S", [i_1])
                T.reads(z[vi_1])
                T.writes(z[vi_1])
                z[vi_1] = z[vi_1] + T.float32(1.0)
        for i_2 in range(T.int64(4)):
            with T.sblock("twice"):
                vi_2 = T.axis.remap("S", [i_2])
                T.reads(z[vi_2])
                T.writes(p_output0[vi_2])
                p_output0[vi_2] = z[vi_2] * T.float32(2.0)

    @T.prim_func(private=True, s_tir=True)
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        # with T.sblock("root"):
        for i in range(T.int64(4)):
            with T.sblock("twice"):
                vi = T.axis.remap("S", [i])
                T.reads(x[vi])
                T.writes(y[vi])
                y[vi] = x[vi] * T.float32(2.0)

    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")):
        cls = Expected
        with R.dataflow():
            lv = R.call_tir(cls.twice, (x,), out_ty=R.Tensor((4,), dtype="float32"))
            lv1 = R.call_tir(cls.twice, (y,), out_ty=R.Tensor((4,), dtype="float32"))
            lv2 = R.call_tir(cls.twice, (lv1,), out_ty=R.Tensor((4,), dtype="float32"))
            lv_1: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")) = R.call_tir_inplace(cls.fused, (lv,), inplace_indices=[-1, 0], out_ty=[R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")])
            lv_2: R.Tensor((4,), dtype="float32") = lv_1[0]
            lv3: R.Tensor((4,), dtype="float32") = lv_2
            lv_3: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")) = R.call_tir_inplace(cls.fused_pair, (lv1, lv2), inplace_indices=[-1, 0, 1], out_ty=[R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")])
            lv_4: R.Tensor((4,), dtype="float32") = lv_3[0]
            lv_5: R.Tensor((4,), dtype="float32") = lv_3[1]
            lv4: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")) = (lv_4, lv_5)
            lv5: R.Tensor((4,), dtype="float32") = lv4[0]
            lv6: R.Tensor((4,), dtype="float32") = lv4[1]
            gv: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")) = (lv3, lv5, lv6)
            R.output(gv)
        return gv
