# SPDX-License-Identifier: Apache-2.0
# A call brings one scalar for each extent of a shape argument: extents that are known, or come twice, have a
# parameter as well.
# passes: FuseTIR
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def scale(A: T.handle, n: T.int64, B: T.handle):
        T.func_attr({"op_pattern": 0})
        m = T.int64()
        X = T.match_buffer(A, (m, n * T.int64(4)))
        Y = T.match_buffer(B, (m, n * T.int64(4)))
        for i, j in T.grid(m, n * T.int64(4)):
            with T.sblock("scale"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj] * T.cast(n, "float32")

    @R.function(private=True)
    def fused_scale_scale(x: R.Tensor(("m", "4 * k"), dtype="float32"), s: R.Shape([4, "k", "k"])) -> R.Tensor(("m", "4 * k"), dtype="float32"):
        m = T.int64()
        k = T.int64()
        R.func_attr({"Primitive": True})
        cls = Before
        with R.dataflow():
            lv = R.call_tir(cls.scale, (x, R.prim_value(k)), out_ty=R.Tensor((m, 4 * k), dtype="float32"))
            lv1 = R.call_tir(cls.scale, (lv, R.prim_value(k)), out_ty=R.Tensor((m, 4 * k), dtype="float32"))
            R.output(lv1)
        return lv1

    @R.function
    def main(x: R.Tensor(("m", "4 * k"), dtype="float32"), s: R.Shape(["k"])) -> R.Tensor(("m", "4 * k"), dtype="float32"):
        m = T.int64()
        k = T.int64()
        cls = Before
        with R.dataflow():
            gv: R.Tensor((m, 4 * k), dtype="float32") = cls.fused_scale_scale(x, R.shape([4, k, k]))
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def fused_scale_scale(x: T.handle, s_0: T.int64, k: T.int64, s_2: T.int64, p_output0: T.handle):
        T.func_attr({"tirx.noalias": True})
        m = T.int64()
        x_1 = T.match_buffer(x, (m, T.int64(4) * k))
        p_output0_1 = T.match_buffer(p_output0, (m, T.int64(4) * k))
        # with T.sblock("root"):
        Y_intermediate = T.sblock_alloc_buffer((m, T.int64(4) * k))
        for i, j in T.grid(m, k * T.int64(4)):
            with T.sblock("scale"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(x_1[vi, vj])
                T.writes(Y_intermediate[vi, vj])
                Y_intermediate[vi, vj] = x_1[vi, vj] * T.Cast("float32", k)
        for i_1, j_1 in T.grid(m, k * T.int64(4)):
            with T.sblock("scale1"):
                vi_1, vj_1 = T.axis.remap("SS", [i_1, j_1])
                T.reads(Y_intermediate[vi_1, vj_1])
                T.writes(p_output0_1[vi_1, vj_1])
                p_output0_1[vi_1, vj_1] = Y_intermediate[vi_1, vj_1] * T.Cast("float32", k)

    @R.function
    def main(x: R.Tensor(("m", "4 * k"), dtype="float32"), s: R.Shape(["k"])) -> R.Tensor(("m", "4 * k"), dtype="float32"):
        m = T.int64()
        k = T.int64()
        cls = Expected
        with R.dataflow():
            gv: R.Tensor((m, 4 * k), dtype="float32") = R.call_tir(cls.fused_scale_scale, (x, R.prim_value(4), k, k), out_ty=R.Tensor((m, k * 4), dtype="float32"))
            R.output(gv)
        return gv
