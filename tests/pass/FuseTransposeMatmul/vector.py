# SPDX-License-Identifier: Apache-2.0
# A vector times a transposed matrix.
# passes: FuseTransposeMatmul
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((16,), "float32"), w: R.Tensor((8, 16), "float32")):
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
    def NT_matmul(x: T.Buffer((T.int64(16),), "float32"), w: T.Buffer((T.int64(8), T.int64(16)), "float32"), NT_matmul: T.Buffer((T.int64(8),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, k in T.grid(T.int64(8), T.int64(16)):
            with T.sblock("NT_matmul"):
                v_ax0, v_k = T.axis.remap("SR", [ax0, k])
                T.reads(x[v_k], w[v_ax0, v_k])
                T.writes(NT_matmul[v_ax0])
                with T.init():
                    NT_matmul[v_ax0] = T.float32(0.0)
                NT_matmul[v_ax0] = NT_matmul[v_ax0] + x[v_k] * w[v_ax0, v_k]

    @R.function
    def main(x: R.Tensor((16,), dtype="float32"), w: R.Tensor((8, 16), dtype="float32")) -> R.Tensor((8,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            gv = R.call_tir(cls.NT_matmul, (x, w), out_ty=R.Tensor((8,), dtype="float32"))
            R.output(gv)
        return gv
