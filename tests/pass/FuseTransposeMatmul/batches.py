# SPDX-License-Identifier: Apache-2.0
# Batch extents of one are stretched; negative axes count from the end.
# passes: FuseTransposeMatmul
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("b", 4, 16), "float32"), w: R.Tensor((1, 8, 16), "float32")):
        cls = Before
        with R.dataflow():
            lv = R.permute_dims(w, axes=[0, -1, 1])
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
    def NT_matmul(var_x: T.handle, w: T.Buffer((T.int64(1), T.int64(8), T.int64(16)), "float32"), var_NT_matmul: T.handle):
        T.func_attr({"tirx.noalias": True})
        b = T.int64()
        x = T.match_buffer(var_x, (b, T.int64(4), T.int64(16)))
        NT_matmul = T.match_buffer(var_NT_matmul, (b, T.int64(4), T.int64(8)))
        # with T.sblock("root"):
        for ax0, ax1, ax2, k in T.grid(b, T.int64(4), T.int64(8), T.int64(16)):
            with T.sblock("NT_matmul"):
                v_ax0, v_ax1, v_ax2, v_k = T.axis.remap("SSSR", [ax0, ax1, ax2, k])
                T.reads(x[v_ax0, v_ax1, v_k], w[T.int64(0), v_ax2, v_k])
                T.writes(NT_matmul[v_ax0, v_ax1, v_ax2])
                with T.init():
                    NT_matmul[v_ax0, v_ax1, v_ax2] = T.float32(0.0)
                NT_matmul[v_ax0, v_ax1, v_ax2] = NT_matmul[v_ax0, v_ax1, v_ax2] + x[v_ax0, v_ax1, v_k] * w[T.int64(0), v_ax2, v_k]

    @R.function
    def main(x: R.Tensor(("b", 4, 16), dtype="float32"), w: R.Tensor((1, 8, 16), dtype="float32")) -> R.Tensor(("b", 4, 8), dtype="float32"):
        b = T.int64()
        cls = Expected
        with R.dataflow():
            gv = R.call_tir(cls.NT_matmul, (x, w), out_ty=R.Tensor((b, 4, 8), dtype="float32"))
            R.output(gv)
        return gv
