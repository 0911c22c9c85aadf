# SPDX-License-Identifier: Apache-2.0
# As upstream: a transposition alone is taken in.
# passes: FuseTransposeMatmul{widened=False}, DeadCodeElimination
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 16), "float32"), w: R.Tensor((8, 16), "float16"), v: R.Tensor((8, 16), "float64")):
        cls = Before
        with R.dataflow():
            wide = R.astype(w, "float32")
            turned = R.permute_dims(wide)
            a = R.matmul(x, turned)
            narrow = R.astype(v, "float32")
            other = R.permute_dims(narrow)
            b = R.matmul(x, other)
            gv = R.add(a, b)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def NT_matmul(x: T.Buffer((T.int64(1), T.int64(16)), "float32"), w: T.Buffer((T.int64(8), T.int64(16)), "float32"), NT_matmul: T.Buffer((T.int64(1), T.int64(8)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, k in T.grid(T.int64(1), T.int64(8), T.int64(16)):
            with T.sblock("NT_matmul"):
                v_ax0, v_ax1, v_k = T.axis.remap("SSR", [ax0, ax1, k])
                T.reads(x[v_ax0, v_k], w[v_ax1, v_k])
                T.writes(NT_matmul[v_ax0, v_ax1])
                with T.init():
                    NT_matmul[v_ax0, v_ax1] = T.float32(0.0)
                NT_matmul[v_ax0, v_ax1] = NT_matmul[v_ax0, v_ax1] + x[v_ax0, v_k] * w[v_ax1, v_k]

    @R.function
    def main(x: R.Tensor((1, 16), dtype="float32"), w: R.Tensor((8, 16), dtype="float16"), v: R.Tensor((8, 16), dtype="float64")) -> R.Tensor((1, 8), dtype="float32"):
        cls = Expected
        with R.dataflow():
            wide: R.Tensor((8, 16), dtype="float32") = R.astype(w, dtype="float32")
            a = R.call_tir(cls.NT_matmul, (x, wide), out_ty=R.Tensor((1, 8), dtype="float32"))
            narrow: R.Tensor((8, 16), dtype="float32") = R.astype(v, dtype="float32")
            b = R.call_tir(cls.NT_matmul, (x, narrow), out_ty=R.Tensor((1, 8), dtype="float32"))
            gv: R.Tensor((1, 8), dtype="float32") = R.add(a, b)
            R.output(gv)
        return gv
