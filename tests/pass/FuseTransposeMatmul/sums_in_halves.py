# SPDX-License-Identifier: Apache-2.0
# sums=result: as upstream sums.
# passes: FuseTransposeMatmul{sums=result}
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
    def NT_matmul(var_x: T.handle, w: T.Buffer((T.int64(8), T.int64(16)), "float16"), var_NT_matmul: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        x = T.match_buffer(var_x, (n, T.int64(16)), "float16")
        NT_matmul = T.match_buffer(var_NT_matmul, (n, T.int64(8)), "float16")
        # with T.sblock("root"):
        for ax0, ax1, k in T.grid(n, T.int64(8), T.int64(16)):
            with T.sblock("NT_matmul"):
                v_ax0, v_ax1, v_k = T.axis.remap("SSR", [ax0, ax1, k])
                T.reads(x[v_ax0, v_k], w[v_ax1, v_k])
                T.writes(NT_matmul[v_ax0, v_ax1])
                with T.init():
                    NT_matmul[v_ax0, v_ax1] = T.float16(0.0)
                NT_matmul[v_ax0, v_ax1] = NT_matmul[v_ax0, v_ax1] + x[v_ax0, v_k] * w[v_ax1, v_k]

    @R.function
    def main(x: R.Tensor(("n", 16), dtype="float16"), w: R.Tensor((8, 16), dtype="float16")) -> R.Tensor(("n", 8), dtype="float16"):
        n = T.int64()
        cls = Expected
        with R.dataflow():
            gv = R.call_tir(cls.NT_matmul, (x, w), out_ty=R.Tensor((n, 8), dtype="float16"))
            R.output(gv)
        return gv
