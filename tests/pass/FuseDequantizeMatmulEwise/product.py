# SPDX-License-Identifier: Apache-2.0
# Codes become numbers within the product. Names do not matter.
# passes: FuseDequantizeMatmulEwise
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def weights(q: T.Buffer((T.int64(8), T.int64(2)), "uint32"), scales: T.Buffer((T.int64(8), T.int64(1)), "float16"), w: T.Buffer((T.int64(8), T.int64(16)), "float16")):
        T.func_attr({"tirx.noalias": True})
        codes = T.sblock_alloc_buffer((T.int64(8), T.int64(16)), "float16")
        for i, j in T.grid(T.int64(8), T.int64(16)):
            with T.sblock("codes"):
                vi, vj = T.axis.remap("SS", [i, j])
                codes[vi, vj] = T.Cast("float16", T.bitwise_and(T.shift_right(q[vi, vj // T.int64(8)], T.Cast("uint32", vj % T.int64(8) * T.int64(4))), T.uint32(15)))
        for i, j in T.grid(T.int64(8), T.int64(16)):
            with T.sblock("w"):
                vi, vj = T.axis.remap("SS", [i, j])
                w[vi, vj] = (codes[vi, vj] - T.float16(7.0)) * scales[vi, T.int64(0)]

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
    def main(x: R.Tensor((4, 16), "float16"), q: R.Tensor((8, 2), "uint32"), s: R.Tensor((8, 1), "float16")):
        cls = Before
        with R.dataflow():
            lv = R.call_tir(cls.weights, (q, s), out_ty=R.Tensor((8, 16), "float16"))
            gv = R.call_tir(cls.product, (x, lv), out_ty=R.Tensor((4, 8), "float32"))
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def fused_weights_product(q: T.Buffer((T.int64(8), T.int64(2)), "uint32"), s: T.Buffer((T.int64(8), T.int64(1)), "float16"), x: T.Buffer((T.int64(4), T.int64(16)), "float16"), p_output0: T.Buffer((T.int64(4), T.int64(8)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        codes = T.sblock_alloc_buffer((T.int64(8), T.int64(16)), "float16")
        w_intermediate = T.sblock_alloc_buffer((T.int64(8), T.int64(16)), "float16")
        for i, j in T.grid(T.int64(8), T.int64(16)):
            with T.sblock("codes"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(q[vi, vj // T.int64(8)])
                T.writes(codes[vi, vj])
                codes[vi, vj] = T.Cast("float16", T.bitwise_and(T.shift_right(q[vi, vj // T.int64(8)], T.Cast("uint32", vj % T.int64(8) * T.int64(4))), T.uint32(15)))
        for i_1, j_1 in T.grid(T.int64(8), T.int64(16)):
            with T.sblock("w"):
                vi_1, vj_1 = T.axis.remap("SS", [i_1, j_1])
                T.reads(codes[vi_1, vj_1], s[vi_1, T.int64(0)])
                T.writes(w_intermediate[vi_1, vj_1])
                w_intermediate[vi_1, vj_1] = (codes[vi_1, vj_1] - T.float16(7.0)) * s[vi_1, T.int64(0)]
        for i_2, j_2, k in T.grid(T.int64(4), T.int64(8), T.int64(16)):
            with T.sblock("y"):
                vi_2, vj_2, vk = T.axis.remap("SSR", [i_2, j_2, k])
                T.reads(x[vi_2, vk], w_intermediate[vj_2, vk])
                T.writes(p_output0[vi_2, vj_2])
                with T.init():
                    p_output0[vi_2, vj_2] = T.float32(0.0)
                p_output0[vi_2, vj_2] = p_output0[vi_2, vj_2] + T.Cast("float32", x[vi_2, vk]) * T.Cast("float32", w_intermediate[vj_2, vk])

    @R.function
    def main(x: R.Tensor((4, 16), dtype="float16"), q: R.Tensor((8, 2), dtype="uint32"), s: R.Tensor((8, 1), dtype="float16")) -> R.Tensor((4, 8), dtype="float32"):
        cls = Expected
        with R.dataflow():
            gv = R.call_tir(cls.fused_weights_product, (q, s, x), out_ty=R.Tensor((4, 8), dtype="float32"))
            R.output(gv)
        return gv
