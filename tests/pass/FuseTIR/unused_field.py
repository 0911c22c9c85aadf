# SPDX-License-Identifier: Apache-2.0
# A field of a tuple parameter that nothing reads is no parameter of the program; a block's name that is taken counts on from its number.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def double(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("compute3"):
                vi = T.axis.spatial(T.int64(4), i)
                y[vi] = x[vi] * T.float32(2)

    @R.function(private=True)
    def fused(p: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((8,), dtype="float32"))) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Primitive": True})
        cls = Before
        with R.dataflow():
            lv: R.Tensor((4,), dtype="float32") = p[0]
            lv1 = R.call_tir(cls.double, (lv,), out_ty=R.Tensor((4,), dtype="float32"))
            gv = R.call_tir(cls.double, (lv1,), out_ty=R.Tensor((4,), dtype="float32"))
            R.output(gv)
        return gv

    @R.function
    def main(t: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((8,), dtype="float32"))) -> R.Tensor((4,), dtype="float32"):
        cls = Before
        with R.dataflow():
            gv: R.Tensor((4,), dtype="float32") = cls.fused(t)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def fused(p_0: T.Buffer((T.int64(4),), "float32"), p_output0: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        y_intermediate = T.sblock_alloc_buffer((T.int64(4),))
        for i in range(T.int64(4)):
            with T.sblock("compute3"):
                vi = T.axis.remap("S", [i])
                T.reads(p_0[vi])
                T.writes(y_intermediate[vi])
                y_intermediate[vi] = p_0[vi] * T.float32(2.0)
        for i_1 in range(T.int64(4)):
            with T.sblock("compute4"):
                vi_1 = T.axis.remap("S", [i_1])
                T.reads(y_intermediate[vi_1])
                T.writes(p_output0[vi_1])
                p_output0[vi_1] = y_intermediate[vi_1] * T.float32(2.0)

    @R.function
    def main(t: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((8,), dtype="float32"))) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            lv: R.Tensor((4,), dtype="float32") = t[0]
            gv = R.call_tir(cls.fused, (lv,), out_ty=R.Tensor((4,), dtype="float32"))
            R.output(gv)
        return gv
