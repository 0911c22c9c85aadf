# SPDX-License-Identifier: Apache-2.0
# On the cpu a product reads turned weights of 16 bits as they are, and widens what it reads.
# target: cpu
# passes: LegalizeOps, DeadCodeElimination
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, "n", 24), dtype="float32"), w: R.Tensor((40, 24), dtype="float16"), v: R.Tensor((40, 24), dtype="bfloat16")) -> R.Tensor((1, "n", 40), dtype="float32"):
        n = T.int64()
        with R.dataflow():
            lv = R.astype(w, dtype="float32")
            lv1 = R.permute_dims(lv)
            lv2 = R.matmul(x, lv1)
            lv3 = R.astype(v, dtype="float32")
            lv4 = R.permute_dims(lv3, axes=[1, 0])
            lv5 = R.matmul(x, lv4)
            gv = R.add(lv2, lv5)
            R.output(gv)
        return gv
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
        A = T.match_buffer(var_A, (T.int64(1), n, T.int64(40)))
        B = T.match_buffer(var_B, (T.int64(1), n, T.int64(40)))
        T_add = T.match_buffer(var_T_add, (T.int64(1), n, T.int64(40)))
        # with T.sblock("root"):
        for ax0, ax1, ax2 in T.grid(T.int64(1), n, T.int64(40)):
            with T.sblock("T_add"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(A[v_ax0, v_ax1, v_ax2], B[v_ax0, v_ax1, v_ax2])
                T.writes(T_add[v_ax0, v_ax1, v_ax2])
                T_add[v_ax0, v_ax1, v_ax2] = A[v_ax0, v_ax1, v_ax2] + B[v_ax0, v_ax1, v_ax2]

    @T.prim_func(private=True, s_tir=True)
    def matmul_turned(var_x: T.handle, w: T.Buffer((T.int64(40), T.int64(24)), "float16"), var_matmul_turned: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        x = T.match_buffer(var_x, (T.int64(1), n, T.int64(24)))
        matmul_turned = T.match_buffer(var_matmul_turned, (T.int64(1), n, T.int64(40)))
        # with T.sblock("root"):
        for ax0, ax1, ax2, k in T.grid(T.int64(1), n, T.int64(40), T.int64(24)):
            with T.sblock("matmul_turned"):
                v_ax0, v_ax1, v_ax2, v_k = T.axis.remap("SSSR", [ax0, ax1, ax2, k])
                T.reads(x[T.int64(0), v_ax1, v_k], w[v_ax2, v_k])
                T.writes(matmul_turned[v_ax0, v_ax1, v_ax2])
                with T.init():
                    matmul_turned[v_ax0, v_ax1, v_ax2] = T.float32(0.0)
                matmul_turned[v_ax0, v_ax1, v_ax2] = matmul_turned[v_ax0, v_ax1, v_ax2] + x[T.int64(0), v_ax1, v_k] * T.Cast("float32", w[v_ax2, v_k])

    @T.prim_func(private=True, s_tir=True)
    def matmul_turned1(var_x: T.handle, w: T.Buffer((T.int64(40), T.int64(24)), "bfloat16"), var_matmul_turned: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        x = T.match_buffer(var_x, (T.int64(1), n, T.int64(24)))
        matmul_turned = T.match_buffer(var_matmul_turned, (T.int64(1), n, T.int64(40)))
        # with T.sblock("root"):
        for ax0, ax1, ax2, k in T.grid(T.int64(1), n, T.int64(40), T.int64(24)):
            with T.sblock("matmul_turned"):
                v_ax0, v_ax1, v_ax2, v_k = T.axis.remap("SSSR", [ax0, ax1, ax2, k])
                T.reads(x[T.int64(0), v_ax1, v_k], w[v_ax2, v_k])
                T.writes(matmul_turned[v_ax0, v_ax1, v_ax2])
                with T.init():
                    matmul_turned[v_ax0, v_ax1, v_ax2] = T.float32(0.0)
                matmul_turned[v_ax0, v_ax1, v_ax2] = matmul_turned[v_ax0, v_ax1, v_ax2] + x[T.int64(0), v_ax1, v_k] * T.Cast("float32", w[v_ax2, v_k])

    @R.function
    def main(x: R.Tensor((1, "n", 24), dtype="float32"), w: R.Tensor((40, 24), dtype="float16"), v: R.Tensor((40, 24), dtype="bfloat16")) -> R.Tensor((1, "n", 40), dtype="float32"):
        n = T.int64()
        cls = Expected
        with R.dataflow():
            lv2 = R.call_tir(cls.matmul_turned, (x, w), out_ty=R.Tensor((1, n, 40), dtype="float32"))
            lv5 = R.call_tir(cls.matmul_turned1, (x, v), out_ty=R.Tensor((1, n, 40), dtype="float32"))
            gv = R.call_tir(cls.add, (lv2, lv5), out_ty=R.Tensor((1, n, 40), dtype="float32"))
            R.output(gv)
        return gv
