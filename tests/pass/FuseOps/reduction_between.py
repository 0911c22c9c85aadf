# SPDX-License-Identifier: Apache-2.0
# passes: LegalizeOps, AnnotateTIROpPattern, FuseOps
# A reduction takes in what comes before it, but nothing reaches over one.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.sum(a, axis=[1], keepdims=True)
            c = R.subtract(a, b)
            d = R.tanh(c)
            gv = R.max(d, axis=[1])
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def max(A: T.Buffer((T.int64(4), T.int64(8)), "float32"), x_red: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"op_pattern": 3, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, k1 in T.grid(T.int64(4), T.int64(8)):
            with T.sblock("x_red"):
                v_ax0, v_k1 = T.axis.remap("SR", [ax0, k1])
                T.reads(A[v_ax0, v_k1])
                T.writes(x_red[v_ax0])
                with T.init():
                    x_red[v_ax0] = T.float32("-inf")
                x_red[v_ax0] = T.max(x_red[v_ax0], A[v_ax0, v_k1])

    @T.prim_func(private=True, s_tir=True)
    def subtract(A: T.Buffer((T.int64(4), T.int64(8)), "float32"), B: T.Buffer((T.int64(4), T.int64(1)), "float32"), T_subtract: T.Buffer((T.int64(4), T.int64(8)), "float32")):
        T.func_attr({"op_pattern": 0, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(4), T.int64(8)):
            with T.sblock("T_subtract"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax0, v_ax1], B[v_ax0, T.int64(0)])
                T.writes(T_subtract[v_ax0, v_ax1])
                T_subtract[v_ax0, v_ax1] = A[v_ax0, v_ax1] - B[v_ax0, T.int64(0)]

    @T.prim_func(private=True, s_tir=True)
    def sum(A: T.Buffer((T.int64(4), T.int64(8)), "float32"), x_red: T.Buffer((T.int64(4), T.int64(1)), "float32")):
        T.func_attr({"op_pattern": 3, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, k1 in T.grid(T.int64(4), T.int64(1), T.int64(8)):
            with T.sblock("x_red"):
                v_ax0, v_ax1, v_k1 = T.axis.remap("SSR", [ax0, ax1, k1])
                T.reads(A[v_ax0, v_k1])
                T.writes(x_red[v_ax0, v_ax1])
                with T.init():
                    x_red[v_ax0, v_ax1] = T.float32(0.0)
                x_red[v_ax0, v_ax1] = x_red[v_ax0, v_ax1] + A[v_ax0, v_k1]

    @T.prim_func(private=True, s_tir=True)
    def tir_exp(A: T.Buffer((T.int64(4), T.int64(8)), "float32"), compute: T.Buffer((T.int64(4), T.int64(8)), "float32")):
        T.func_attr({"op_pattern": 0, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(4), T.int64(8)):
            with T.sblock("compute"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax0, v_ax1])
                T.writes(compute[v_ax0, v_ax1])
                compute[v_ax0, v_ax1] = T.exp(A[v_ax0, v_ax1])

    @T.prim_func(private=True, s_tir=True)
    def tir_tanh(A: T.Buffer((T.int64(4), T.int64(8)), "float32"), compute: T.Buffer((T.int64(4), T.int64(8)), "float32")):
        T.func_attr({"op_pattern": 0, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(4), T.int64(8)):
            with T.sblock("compute"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax0, v_ax1])
                T.writes(compute[v_ax0, v_ax1])
                compute[v_ax0, v_ax1] = T.tanh(A[v_ax0, v_ax1])

    @R.function(private=True)
    def fused_subtract_tir_tanh_max(a: R.Tensor((4, 8), dtype="float32"), b: R.Tensor((4, 1), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Primitive": True})
        cls = Expected
        with R.dataflow():
            c = R.call_tir(cls.subtract, (a, b), out_ty=R.Tensor((4, 8), dtype="float32"))
            d = R.call_tir(cls.tir_tanh, (c,), out_ty=R.Tensor((4, 8), dtype="float32"))
            gv = R.call_tir(cls.max, (d,), out_ty=R.Tensor((4,), dtype="float32"))
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            a = R.call_tir(cls.tir_exp, (x,), out_ty=R.Tensor((4, 8), dtype="float32"))
            b = R.call_tir(cls.sum, (a,), out_ty=R.Tensor((4, 1), dtype="float32"))
            gv: R.Tensor((4,), dtype="float32") = cls.fused_subtract_tir_tanh_max(a, b)
            R.output(gv)
        return gv
