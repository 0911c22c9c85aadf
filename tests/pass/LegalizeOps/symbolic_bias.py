# SPDX-License-Identifier: Apache-2.0
# A bias of which nothing proves whether it has one entry or one for each out feature: the last one is read where there is no other.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", "k"), "float32"), w: R.Tensor(("m", "k"), "float32"), bias: R.Tensor(("e",), "float32")):
        with R.dataflow():
            y = R.linear(x, w, bias)
            R.output(y)
        return y
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def add(var_A: T.handle, var_B: T.handle, var_T_add: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        m = T.int64()
        A = T.match_buffer(var_A, (n, m))
        e = T.int64()
        B = T.match_buffer(var_B, (e,))
        T_add = T.match_buffer(var_T_add, (n, m))
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(n, m):
            with T.sblock("T_add"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax0, v_ax1], B[T.min(v_ax1, e - T.int64(1))])
                T.writes(T_add[v_ax0, v_ax1])
                T_add[v_ax0, v_ax1] = A[v_ax0, v_ax1] + B[T.min(v_ax1, e - T.int64(1))]

    @T.prim_func(private=True, s_tir=True)
    def matmul(var_A: T.handle, var_B: T.handle, var_matmul: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        k = T.int64()
        A = T.match_buffer(var_A, (n, k))
        m = T.int64()
        B = T.match_buffer(var_B, (k, m))
        matmul = T.match_buffer(var_matmul, (n, m))
        # with T.sblock("root"):
        for ax0, ax1, k_1 in T.grid(n, m, k):
            with T.sblock("matmul"):
                v_ax0, v_ax1, v_k = T.axis.remap("SSR", [ax0, ax1, k_1])
                T.reads(A[v_ax0, v_k], B[v_k, v_ax1])
                T.writes(matmul[v_ax0, v_ax1])
                with T.init():
                    matmul[v_ax0, v_ax1] = T.float32(0.0)
                matmul[v_ax0, v_ax1] = matmul[v_ax0, v_ax1] + A[v_ax0, v_k] * B[v_k, v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def transpose(var_A: T.handle, var_T_transpose: T.handle):
        T.func_attr({"tirx.noalias": True})
        m = T.int64()
        k = T.int64()
        A = T.match_buffer(var_A, (m, k))
        T_transpose = T.match_buffer(var_T_transpose, (k, m))
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(k, m):
            with T.sblock("T_transpose"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax1, v_ax0])
                T.writes(T_transpose[v_ax0, v_ax1])
                T_transpose[v_ax0, v_ax1] = A[v_ax1, v_ax0]

    @R.function
    def main(x: R.Tensor(("n", "k"), dtype="float32"), w: R.Tensor(("m", "k"), dtype="float32"), bias: R.Tensor(("e",), dtype="float32")) -> R.Tensor(("n", "m"), dtype="float32"):
        n = T.int64()
        k = T.int64()
        m = T.int64()
        e = T.int64()
        cls = Expected
        with R.dataflow():
            lv = R.call_tir(cls.transpose, (w,), out_ty=R.Tensor((k, m), dtype="float32"))
            lv1 = R.call_tir(cls.matmul, (x, lv), out_ty=R.Tensor((n, m), dtype="float32"))
            y = R.call_tir(cls.add, (lv1, bias), out_ty=R.Tensor((n, m), dtype="float32"))
            R.output(y)
        return y
