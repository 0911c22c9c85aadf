# SPDX-License-Identifier: Apache-2.0
# Weights that are turned twice for a product of one row are made as it wants them.
# passes: FuseDequantizeTranspose
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def weights(q: T.Buffer((T.int64(2), T.int64(8)), "uint32"), scales: T.Buffer((T.int64(1), T.int64(8)), "float16"), w: T.Buffer((T.int64(8), T.int64(16)), "float16")):
        T.func_attr({"tirx.noalias": True})
        made = T.sblock_alloc_buffer((T.int64(16), T.int64(8)), "float16")
        for i, j in T.grid(T.int64(16), T.int64(8)):
            with T.sblock("made"):
                vi, vj = T.axis.remap("SS", [i, j])
                made[vi, vj] = (T.Cast("float16", T.bitwise_and(T.shift_right(q[vi // T.int64(8), vj], T.Cast("uint32", vi % T.int64(8) * T.int64(4))), T.uint32(15))) - T.float16(7.0)) * scales[T.int64(0), vj]
        for i, j in T.grid(T.int64(8), T.int64(16)):
            with T.sblock("turned"):
                vi, vj = T.axis.remap("SS", [i, j])
                w[vi, vj] = made[vj, vi]

    @R.function
    def main(x: R.Tensor(("n", 1, 16), "float16"), q: R.Tensor((2, 8), "uint32"), s: R.Tensor((1, 8), "float16")):
        cls = Before
        with R.dataflow():
            lv = R.call_tir(cls.weights, (q, s), out_ty=R.Tensor((8, 16), "float16"))
            lv1 = R.permute_dims(lv)
            gv = R.matmul(x, lv1)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def dequantize(q: T.Buffer((T.int64(2), T.int64(8)), "uint32"), scales: T.Buffer((T.int64(1), T.int64(8)), "float16"), made: T.Buffer((T.int64(16), T.int64(8)), "float16")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for i, j in T.grid(T.int64(16), T.int64(8)):
            with T.sblock("made"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(q[vi // T.int64(8), vj], scales[T.int64(0), vj])
                T.writes(made[vi, vj])
                made[vi, vj] = (T.Cast("float16", T.bitwise_and(T.shift_right(q[vi // T.int64(8), vj], T.Cast("uint32", vi % T.int64(8) * T.int64(4))), T.uint32(15))) - T.float16(7.0)) * scales[T.int64(0), vj]

    @R.function
    def main(x: R.Tensor(("n", 1, 16), dtype="float16"), q: R.Tensor((2, 8), dtype="uint32"), s: R.Tensor((1, 8), dtype="float16")) -> R.Tensor(("n", 1, 8), dtype="float16"):
        n = T.int64()
        cls = Expected
        with R.dataflow():
            lv = R.call_tir(cls.dequantize, (q, s), out_ty=R.Tensor((16, 8), dtype="float16"))
            gv: R.Tensor((n, 1, 8), dtype="float16") = R.matmul(x, lv, out_dtype=None)
            R.output(gv)
        return gv
