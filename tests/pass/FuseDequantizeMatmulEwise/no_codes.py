# SPDX-License-Identifier: Apache-2.0
# Floats that are rounded, and rows that are looked up, are no weights made of codes, whatever their program is called.
# passes: FuseDequantizeMatmulEwise
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def dequantize(q: T.Buffer((T.int64(8), T.int64(16)), "float32"), w: T.Buffer((T.int64(8), T.int64(16)), "float16")):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(T.int64(8), T.int64(16)):
            with T.sblock("w"):
                vi, vj = T.axis.remap("SS", [i, j])
                w[vi, vj] = T.Cast("float16", q[vi, vj])

    @T.prim_func(private=True)
    def rows(t: T.Buffer((T.int64(9), T.int64(16)), "float16"), at: T.Buffer((T.int64(8),), "int32"), w: T.Buffer((T.int64(8), T.int64(16)), "float16")):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(T.int64(8), T.int64(16)):
            with T.sblock("w"):
                vi, vj = T.axis.remap("SS", [i, j])
                w[vi, vj] = t[at[vi], vj]

    @T.prim_func(private=True)
    def product(x: T.Buffer((T.int64(4), T.int64(16)), "float16"), w: T.Buffer((T.int64(8), T.int64(16)), "float16"), y: T.Buffer((T.int64(4), T.int64(8)), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i, j, k in T.grid(T.int64(4), T.int64(8), T.int64(16)):
            with T.sblock("y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    y[vi, vj] = T.float32(0)
                y[vi, vj] = y[vi, vj] + T.Cast("float32", x[vi, vk]) * T.Cast("float32", w[vj, vk])

    @R.function
    def main(x: R.Tensor((4, 16), "float16"), q: R.Tensor((8, 16), "float32"), t: R.Tensor((9, 16), "float16"), at: R.Tensor((8,), "int32")):
        cls = Before
        with R.dataflow():
            lv = R.call_tir(cls.dequantize, (q,), out_ty=R.Tensor((8, 16), "float16"))
            lv1 = R.call_tir(cls.product, (x, lv), out_ty=R.Tensor((4, 8), "float32"))
            lv2 = R.call_tir(cls.rows, (t, at), out_ty=R.Tensor((8, 16), "float16"))
            lv3 = R.call_tir(cls.product, (x, lv2), out_ty=R.Tensor((4, 8), "float32"))
            gv = (lv1, lv3)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def dequantize(q: T.Buffer((T.int64(8), T.int64(16)), "float32"), w: T.Buffer((T.int64(8), T.int64(16)), "float16")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for i, j in T.grid(T.int64(8), T.int64(16)):
            with T.sblock("w"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(q[vi, vj])
                T.writes(w[vi, vj])
                w[vi, vj] = T.Cast("float16", q[vi, vj])

    @T.prim_func(private=True, s_tir=True)
    def product(x: T.Buffer((T.int64(4), T.int64(16)), "float16"), w: T.Buffer((T.int64(8), T.int64(16)), "float16"), y: T.Buffer((T.int64(4), T.int64(8)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for i, j, k in T.grid(T.int64(4), T.int64(8), T.int64(16)):
            with T.sblock("y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(x[vi, vk], w[vj, vk])
                T.writes(y[vi, vj])
                with T.init():
                    y[vi, vj] = T.float32(0.0)
                y[vi, vj] = y[vi, vj] + T.Cast("float32", x[vi, vk]) * T.Cast("float32", w[vj, vk])

    @T.prim_func(private=True, s_tir=True)
    def rows(t: T.Buffer((T.int64(9), T.int64(16)), "float16"), at: T.Buffer((T.int64(8),), "int32"), w: T.Buffer((T.int64(8), T.int64(16)), "float16")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for i, j in T.grid(T.int64(8), T.int64(16)):
            with T.sblock("w"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(t[at[vi], vj], at[vi])
                T.writes(w[vi, vj])
                w[vi, vj] = t[at[vi], vj]

    @R.function
    def main(x: R.Tensor((4, 16), dtype="float16"), q: R.Tensor((8, 16), dtype="float32"), t: R.Tensor((9, 16), dtype="float16"), at: R.Tensor((8,), dtype="int32")) -> R.Tuple(R.Tensor((4, 8), dtype="float32"), R.Tensor((4, 8), dtype="float32")):
        cls = Expected
        with R.dataflow():
            lv = R.call_tir(cls.dequantize, (q,), out_ty=R.Tensor((8, 16), dtype="float16"))
            lv1 = R.call_tir(cls.product, (x, lv), out_ty=R.Tensor((4, 8), dtype="float32"))
            lv2 = R.call_tir(cls.rows, (t, at), out_ty=R.Tensor((8, 16), dtype="float16"))
            lv3 = R.call_tir(cls.product, (x, lv2), out_ty=R.Tensor((4, 8), dtype="float32"))
            gv: R.Tuple(R.Tensor((4, 8), dtype="float32"), R.Tensor((4, 8), dtype="float32")) = (lv1, lv3)
            R.output(gv)
        return gv
