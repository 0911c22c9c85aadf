# SPDX-License-Identifier: Apache-2.0
# The product reads w as it lies, and the transposition goes. Halves are summed in float32.
# passes: FuseTransposeMatmul
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 16), "float16"), w: R.Tensor((8, 16), "float16")):
        cls = Before
        with R.dataflow():
            lv = R.permute_dims(w)
            gv = R.matmul(x, lv)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def NT_matmul(var_x: T.handle, w: T.Buffer((T.int64(8), T.int64(16)), "float16"), var_T_cast: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        x = T.match_buffer(var_x, (n, T.int64(16)), "float16")
        T_cast = T.match_buffer(var_T_cast, (n, T.int64(8)), "float16")
        # with T.sblock("root"):
        NT_matmul = T.sblock_alloc_buffer((n, T.int64(8)))
        for ax0, ax1, k in T.grid(n, T.int64(8), T.int64(16)):
            with T.sblock("NT_matmul"):
                v_ax0, v_ax1, v_k = T.axis.remap("SSR", [ax0, ax1, k])
                T.reads(x[v_ax0, v_k], w[v_ax1, v_k])
                T.writes(NT_matmul[v_ax0, v_ax1])
                with T.init():
                    NT_matmul[v_ax0, v_ax1] = T.float32(0.0)
                NT_matmul[v_ax0, v_ax1] = NT_matmul[v_ax0, v_ax1] + T.Cast("float32", x[v_ax0, v_k]) * T.Cast("float32", w[v_ax1, v_k])
        for ax0_1, ax1_1 in T.grid(n, T.int64(8)):
            with T.sblock("T_cast"):
                v_ax0_1, v_ax1_1 = T.axis.remap("SS", [ax0_1, ax1_1])
                T.reads(NT_matmul[v_ax0_1, v_ax1_1])
                T.writes(T_cast[v_ax0_1, v_ax1_1])
                T_cast[v_ax0_1, v_ax1_1] = T.Cast("float16", NT_matmul[v_ax0_1, v_ax1_1])

    @R.function
    def main(x: R.Tensor(("n", 16), dtype="float16"), w: R.Tensor((8, 16), dtype="float16")) -> R.Tensor(("n", 8), dtype="float16"):
        n = T.int64()
        cls = Expected
        with R.dataflow():
            gv = R.call_tir(cls.NT_matmul, (x, w), out_ty=R.Tensor((n, 8), dtype="float16"))
            R.output(gv)
        return gv
