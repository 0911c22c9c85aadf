# SPDX-License-Identifier: Apache-2.0
# What else uses the transposition keeps it; both products read w.
# passes: FuseTransposeMatmul
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4, 16), "float32"), w: R.Tensor((16, 16), "float32")):
        cls = Before
        with R.dataflow():
            lv = R.permute_dims(w)
            lv1 = R.matmul(x, lv)
            lv2 = R.matmul(lv1, lv)
            gv = (lv2, lv)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def NT_matmul(x: T.Buffer((T.int64(4), T.int64(16)), "float32"), w: T.Buffer((T.int64(16), T.int64(16)), "float32"), NT_matmul: T.Buffer((T.int64(4), T.int64(16)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, k in T.grid(T.int64(4), T.int64(16), T.int64(16)):
            with T.sblock("NT_matmul"):
                v_ax0, v_ax1, v_k = T.axis.remap("SSR", [ax0, ax1, k])
                T.reads(x[v_ax0, v_k], w[v_ax1, v_k])
                T.writes(NT_matmul[v_ax0, v_ax1])
                with T.init():
                    NT_matmul[v_ax0, v_ax1] = T.float32(0.0)
                NT_matmul[v_ax0, v_ax1] = NT_matmul[v_ax0, v_ax1] + x[v_ax0, v_k] * w[v_ax1, v_k]

    @R.function
    def main(x: R.Tensor((4, 16), dtype="float32"), w: R.Tensor((16, 16), dtype="float32")) -> R.Tuple(R.Tensor((4, 16), dtype="float32"), R.Tensor((16, 16), dtype="float32")):
        cls = Expected
        with R.dataflow():
            lv: R.Tensor((16, 16), dtype="float32") = R.permute_dims(w, axes=None)
            lv1 = R.call_tir(cls.NT_matmul, (x, w), out_ty=R.Tensor((4, 16), dtype="float32"))
            lv2 = R.call_tir(cls.NT_matmul, (lv1, w), out_ty=R.Tensor((4, 16), dtype="float32"))
            gv: R.Tuple(R.Tensor((4, 16), dtype="float32"), R.Tensor((16, 16), dtype="float32")) = (lv2, lv)
            R.output(gv)
        return gv
