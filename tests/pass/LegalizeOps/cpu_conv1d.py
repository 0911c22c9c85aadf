# SPDX-License-Identifier: Apache-2.0
# On the cpu a long constant kernel along one axis is a product with windows of the data.
# target: cpu
# passes: BlockLayouts, LegalizeOps, DeadCodeElimination
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 1, "m"), dtype="float32")) -> R.Tensor(("n", 18, "(m + 2 - 64) // 32 + 1"), dtype="float32"):
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            w = R.full((18, 1, 64), R.const(0.5, "float32"), dtype="float32")
            gv = R.nn.conv1d(x, w, strides=[32], padding=[1, 1])
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def conv1d_windows(var_x: T.handle, var_conv1d_windows: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        m = T.int64()
        x = T.match_buffer(var_x, (n, T.int64(1), m))
        conv1d_windows = T.match_buffer(var_conv1d_windows, (n, (m + T.int64(2)) // T.int64(32) - T.int64(1), T.int64(64)))
        # with T.sblock("root"):
        for ax0, ax1, ax2 in T.grid(n, (m + T.int64(2)) // T.int64(32) - T.int64(1), T.int64(64)):
            with T.sblock("conv1d_windows"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(x[v_ax0, v_ax2 // T.int64(64), v_ax1 * T.int64(32) + v_ax2 % T.int64(64) + T.int64(-1)])
                T.writes(conv1d_windows[v_ax0, v_ax1, v_ax2])
                conv1d_windows[v_ax0, v_ax1, v_ax2] = T.if_then_else(v_ax1 * T.int64(32) + v_ax2 % T.int64(64) + T.int64(-1) >= T.int64(0) and v_ax1 * T.int64(32) + v_ax2 % T.int64(64) + T.int64(-1) < m, x[v_ax0, v_ax2 // T.int64(64), v_ax1 * T.int64(32) + v_ax2 % T.int64(64) + T.int64(-1)], T.float32(0.0))

    @T.prim_func(private=True, s_tir=True)
    def full(T_full: T.Buffer((T.int64(18), T.int64(1), T.int64(64)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2 in T.grid(T.int64(18), T.int64(1), T.int64(64)):
            with T.sblock("T_full"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads()
                T.writes(T_full[v_ax0, v_ax1, v_ax2])
                T_full[v_ax0, v_ax1, v_ax2] = T.float32(0.5)

    @T.prim_func(private=True, s_tir=True)
    def matmul(var_A: T.handle, B: T.Buffer((T.int64(64), T.int64(18)), "float32"), m: T.int64, var_matmul: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        A = T.match_buffer(var_A, (n, (m + T.int64(2)) // T.int64(32) - T.int64(1), T.int64(64)))
        matmul = T.match_buffer(var_matmul, (n, (m + T.int64(2)) // T.int64(32) - T.int64(1), T.int64(18)))
        # with T.sblock("root"):
        for ax0, ax1, ax2, k in T.grid(n, (m + T.int64(2)) // T.int64(32) - T.int64(1), T.int64(18), T.int64(64)):
            with T.sblock("matmul"):
                v_ax0, v_ax1, v_ax2, v_k = T.axis.remap("SSSR", [ax0, ax1, ax2, k])
                T.reads(A[v_ax0, v_ax1, v_k], B[v_k, v_ax2])
                T.writes(matmul[v_ax0, v_ax1, v_ax2])
                with T.init():
                    matmul[v_ax0, v_ax1, v_ax2] = T.float32(0.0)
                matmul[v_ax0, v_ax1, v_ax2] = matmul[v_ax0, v_ax1, v_ax2] + A[v_ax0, v_ax1, v_k] * B[v_k, v_ax2]

    @T.prim_func(private=True, s_tir=True)
    def reshape(A: T.Buffer((T.int64(18), T.int64(1), T.int64(64)), "float32"), T_reshape: T.Buffer((T.int64(18), T.int64(64)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(18), T.int64(64)):
            with T.sblock("T_reshape"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[(v_ax1 // T.int64(64) + v_ax0) % T.int64(18), T.int64(0), v_ax1 % T.int64(64)])
                T.writes(T_reshape[v_ax0, v_ax1])
                T_reshape[v_ax0, v_ax1] = A[(v_ax1 // T.int64(64) + v_ax0) % T.int64(18), T.int64(0), v_ax1 % T.int64(64)]

    @T.prim_func(private=True, s_tir=True)
    def transpose(A: T.Buffer((T.int64(18), T.int64(64)), "float32"), T_transpose: T.Buffer((T.int64(64), T.int64(18)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(64), T.int64(18)):
            with T.sblock("T_transpose"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax1, v_ax0])
                T.writes(T_transpose[v_ax0, v_ax1])
                T_transpose[v_ax0, v_ax1] = A[v_ax1, v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def transpose1(var_A: T.handle, m: T.int64, var_T_transpose: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        A = T.match_buffer(var_A, (n, (m + T.int64(2)) // T.int64(32) - T.int64(1), T.int64(18)))
        T_transpose = T.match_buffer(var_T_transpose, (n, T.int64(18), (m + T.int64(2)) // T.int64(32) - T.int64(1)))
        # with T.sblock("root"):
        for ax0, ax1, ax2 in T.grid(n, T.int64(18), (m + T.int64(2)) // T.int64(32) - T.int64(1)):
            with T.sblock("T_transpose"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(A[v_ax0, v_ax2, v_ax1])
                T.writes(T_transpose[v_ax0, v_ax1, v_ax2])
                T_transpose[v_ax0, v_ax1, v_ax2] = A[v_ax0, v_ax2, v_ax1]

    @R.function
    def main(x: R.Tensor(("n", 1, "m"), dtype="float32")) -> R.Tensor(("n", 18, "(m + 2) // 32 - 1"), dtype="float32"):
        n = T.int64()
        m = T.int64()
        cls = Expected
        with R.dataflow():
            w = R.call_tir(cls.full, R.tuple(), out_ty=R.Tensor((18, 1, 64), dtype="float32"))
            windows = R.call_tir(cls.conv1d_windows, (x,), out_ty=R.Tensor((n, (m + 2) // 32 - 1, 64), dtype="float32"))
            kernel = R.call_tir(cls.reshape, (w,), out_ty=R.Tensor((18, 64), dtype="float32"))
            kernel1 = R.call_tir(cls.transpose, (kernel,), out_ty=R.Tensor((64, 18), dtype="float32"))
            product = R.call_tir(cls.matmul, (windows, kernel1, m), out_ty=R.Tensor((n, (m + 2) // 32 - 1, 18), dtype="float32"))
            gv = R.call_tir(cls.transpose1, (product, m), out_ty=R.Tensor((n, 18, (m + 2) // 32 - 1), dtype="float32"))
            R.output(gv)
        return gv
