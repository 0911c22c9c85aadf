# SPDX-License-Identifier: Apache-2.0
# Symbolic extents become the program's own variables.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32"), w: R.Tensor((4, 8), dtype="float32")) -> R.Tensor(("n", 8), dtype="float32"):
        n = T.int64()
        with R.dataflow():
            gv: R.Tensor((n, 8), dtype="float32") = R.matmul(x, w)
            R.output(gv)
        return gv


# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def matmul(var_A: T.handle, B: T.Buffer((T.int64(4), T.int64(8)), "float32"), var_matmul: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        A = T.match_buffer(var_A, (n, T.int64(4)))
        matmul = T.match_buffer(var_matmul, (n, T.int64(8)))
        # with T.sblock("root"):
        for ax0, ax1, k in T.grid(n, T.int64(8), T.int64(4)):
            with T.sblock("matmul"):
                v_ax0, v_ax1, v_k = T.axis.remap("SSR", [ax0, ax1, k])
                T.reads(A[v_ax0, v_k], B[v_k, v_ax1])
                T.writes(matmul[v_ax0, v_ax1])
                with T.init():
                    matmul[v_ax0, v_ax1] = T.float32(0.0)
                matmul[v_ax0, v_ax1] = matmul[v_ax0, v_ax1] + A[v_ax0, v_k] * B[v_k, v_ax1]

    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32"), w: R.Tensor((4, 8), dtype="float32")) -> R.Tensor(("n", 8), dtype="float32"):
        n = T.int64()
        cls = Expected
        with R.dataflow():
            gv = R.call_tir(cls.matmul, (x, w), out_ty=R.Tensor((n, 8), dtype="float32"))
            R.output(gv)
        return gv
