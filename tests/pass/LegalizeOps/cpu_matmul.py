# SPDX-License-Identifier: Apache-2.0
# On the cpu a constant right operand is put into panels, and a turned one is read as it lies.
# target: cpu
# passes: BlockLayouts, LegalizeOps, DeadCodeElimination
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((20, 8), dtype="float32"), w: R.Tensor((24, 16), dtype="float32")) -> R.Tensor((20, 24), dtype="float32"):
        with R.dataflow():
            a = R.matmul(x, R.const([[0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0], [2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0], [4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0], [3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0], [2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0], [4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0]], "float32"))
            t = R.permute_dims(w, axes=[1, 0])
            gv = R.matmul(a, t)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def matmul_panels(x: T.Buffer((T.int64(20), T.int64(8)), "float32"), w: T.Buffer((T.int64(1), T.int64(8), T.int64(16)), "float32"), matmul_panels: T.Buffer((T.int64(20), T.int64(16)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, k in T.grid(T.int64(20), T.int64(16), T.int64(8)):
            with T.sblock("matmul_panels"):
                v_ax0, v_ax1, v_k = T.axis.remap("SSR", [ax0, ax1, k])
                T.reads(x[v_ax0, v_k], w[v_ax1 // T.int64(16), v_k, v_ax1 % T.int64(16)])
                T.writes(matmul_panels[v_ax0, v_ax1])
                with T.init():
                    matmul_panels[v_ax0, v_ax1] = T.float32(0.0)
                matmul_panels[v_ax0, v_ax1] = matmul_panels[v_ax0, v_ax1] + x[v_ax0, v_k] * w[v_ax1 // T.int64(16), v_k, v_ax1 % T.int64(16)]

    @T.prim_func(private=True, s_tir=True)
    def matmul_turned(x: T.Buffer((T.int64(20), T.int64(16)), "float32"), w: T.Buffer((T.int64(24), T.int64(16)), "float32"), matmul_turned: T.Buffer((T.int64(20), T.int64(24)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, k in T.grid(T.int64(20), T.int64(24), T.int64(16)):
            with T.sblock("matmul_turned"):
                v_ax0, v_ax1, v_k = T.axis.remap("SSR", [ax0, ax1, k])
                T.reads(x[v_ax0, v_k], w[v_ax1, v_k])
                T.writes(matmul_turned[v_ax0, v_ax1])
                with T.init():
                    matmul_turned[v_ax0, v_ax1] = T.float32(0.0)
                matmul_turned[v_ax0, v_ax1] = matmul_turned[v_ax0, v_ax1] + x[v_ax0, v_k] * w[v_ax1, v_k]

    @T.prim_func(private=True, s_tir=True)
    def panels(w: T.Buffer((T.int64(8), T.int64(16)), "float32"), panels: T.Buffer((T.int64(1), T.int64(8), T.int64(16)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2 in T.grid(T.int64(1), T.int64(8), T.int64(16)):
            with T.sblock("panels"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(w[v_ax1, v_ax0 * T.int64(16) + v_ax2])
                T.writes(panels[v_ax0, v_ax1, v_ax2])
                panels[v_ax0, v_ax1, v_ax2] = w[v_ax1, v_ax0 * T.int64(16) + v_ax2]

    @R.function
    def main(x: R.Tensor((20, 8), dtype="float32"), w: R.Tensor((24, 16), dtype="float32")) -> R.Tensor((20, 24), dtype="float32"):
        cls = Expected
        with R.dataflow():
            panels = R.call_tir(cls.panels, (R.const(bytes="000000000000803f000000400000404000008040000000000000803f000000400000404000008040000000000000803f00000040000040400000804000000000000000400000404000008040000000000000803f000000400000404000008040000000000000803f000000400000404000008040000000000000803f0000004000008040000000000000803f000000400000404000008040000000000000803f000000400000404000008040000000000000803f0000004000004040000080400000803f000000400000404000008040000000000000803f000000400000404000008040000000000000803f000000400000404000008040000000000000803f0000404000008040000000000000803f000000400000404000008040000000000000803f000000400000404000008040000000000000803f0000004000004040000000000000803f000000400000404000008040000000000000803f000000400000404000008040000000000000803f00000040000040400000804000000000000000400000404000008040000000000000803f000000400000404000008040000000000000803f000000400000404000008040000000000000803f0000004000008040000000000000803f000000400000404000008040000000000000803f000000400000404000008040000000000000803f000000400000404000008040", dtype="float32", shape=[8, 16]),), out_ty=R.Tensor((1, 8, 16), dtype="float32"))
            a = R.call_tir(cls.matmul_panels, (x, panels), out_ty=R.Tensor((20, 16), dtype="float32"))
            gv = R.call_tir(cls.matmul_turned, (a, w), out_ty=R.Tensor((20, 24), dtype="float32"))
            R.output(gv)
        return gv
