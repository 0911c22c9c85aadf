# SPDX-License-Identifier: Apache-2.0
# What upstream's operators take: squeeze leaves an axis that is not 1; index tensors are broadcast; elements of two dtypes are compared.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 3, 1), "float32"), i: R.Tensor((2, 1), "int64"), j: R.Tensor((3,), "int64"), v: R.Tensor((2, 3, 1), "float32"), t: R.Tensor((3,), "bool"), n: R.Tensor((3,), "uint8")):
        a = R.squeeze(x, axis=[1, 2])
        b = R.index_put(x, (i, j), v, accumulate=True)
        c = R.less(t, R.squeeze(x, axis=[2]))
        d = R.equal(n, t)
        return (a, b, c, d)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def equal(A: T.Buffer((T.int64(3),), "uint8"), B: T.Buffer((T.int64(3),), "bool"), T_equal: T.Buffer((T.int64(3),), "bool")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(3)):
            with T.sblock("T_equal"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0], B[v_ax0])
                T.writes(T_equal[v_ax0])
                T_equal[v_ax0] = A[v_ax0] == T.Cast("uint8", B[v_ax0])

    @T.prim_func(private=True, s_tir=True)
    def index_put(A: T.Buffer((T.int64(2), T.int64(3), T.int64(1)), "float32"), B: T.Buffer((T.int64(2), T.int64(1)), "int64"), C: T.Buffer((T.int64(3),), "int64"), D: T.Buffer((T.int64(2), T.int64(3), T.int64(1)), "float32"), out_buf: T.Buffer((T.int64(2), T.int64(3), T.int64(1)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for i0, i1, i2 in T.grid(T.int64(2), T.int64(3), T.int64(1)):
            with T.sblock("copy"):
                i0_1, i1_1, i2_1 = T.axis.remap("SSS", [i0, i1, i2])
                T.reads(A[i0_1, i1_1, i2_1])
                T.writes(out_buf[i0_1, i1_1, i2_1])
                out_buf[i0_1, i1_1, i2_1] = A[i0_1, i1_1, i2_1]
        for i0_2, i1_2, i2_2 in T.grid(T.int64(2), T.int64(3), T.int64(1)):
            with T.sblock("index_put"):
                i0_3 = T.axis.scan(T.int64(2), i0_2)
                i1_3 = T.axis.scan(T.int64(3), i1_2)
                i2_3 = T.axis.remap("S", [i2_2])
                T.reads(B[T.int64(0):T.int64(2), T.int64(0)], C[T.int64(0):T.int64(3)], D[T.int64(0):T.int64(2), T.int64(0):T.int64(3), T.int64(0)], out_buf[T.int64(0):T.int64(2), T.int64(0):T.int64(3), i2_3])
                T.writes(out_buf[T.int64(0):T.int64(2), T.int64(0):T.int64(3), i2_3])
                out_buf[T.index_in(B[i0_3, T.int64(0)], T.int64(2), 1, "index_put, axis 0"), T.index_in(C[i1_3], T.int64(3), 1, "index_put, axis 1"), i2_3] = out_buf[T.index_in(B[i0_3, T.int64(0)], T.int64(2), 1, "index_put, axis 0"), T.index_in(C[i1_3], T.int64(3), 1, "index_put, axis 1"), i2_3] + D[i0_3, i1_3, i2_3]

    @T.prim_func(private=True, s_tir=True)
    def less(A: T.Buffer((T.int64(3),), "bool"), B: T.Buffer((T.int64(2), T.int64(3)), "float32"), T_less: T.Buffer((T.int64(2), T.int64(3)), "bool")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(2), T.int64(3)):
            with T.sblock("T_less"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax1], B[v_ax0, v_ax1])
                T.writes(T_less[v_ax0, v_ax1])
                T_less[v_ax0, v_ax1] = T.Cast("float32", A[v_ax1]) < B[v_ax0, v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def squeeze(A: T.Buffer((T.int64(2), T.int64(3), T.int64(1)), "float32"), T_squeeze: T.Buffer((T.int64(2), T.int64(3)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(2), T.int64(3)):
            with T.sblock("T_squeeze"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax0, v_ax1, T.int64(0)])
                T.writes(T_squeeze[v_ax0, v_ax1])
                T_squeeze[v_ax0, v_ax1] = A[v_ax0, v_ax1, T.int64(0)]

    @R.function
    def main(x: R.Tensor((2, 3, 1), dtype="float32"), i: R.Tensor((2, 1), dtype="int64"), j: R.Tensor((3,), dtype="int64"), v: R.Tensor((2, 3, 1), dtype="float32"), t: R.Tensor((3,), dtype="bool"), n: R.Tensor((3,), dtype="uint8")) -> R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((2, 3, 1), dtype="float32"), R.Tensor((2, 3), dtype="bool"), R.Tensor((3,), dtype="bool")):
        cls = Expected
        a = R.call_tir(cls.squeeze, (x,), out_ty=R.Tensor((2, 3), dtype="float32"))
        b = R.call_tir(cls.index_put, (x, i, j, v), out_ty=R.Tensor((2, 3, 1), dtype="float32"))
        gv = R.call_tir(cls.squeeze, (x,), out_ty=R.Tensor((2, 3), dtype="float32"))
        c = R.call_tir(cls.less, (t, gv), out_ty=R.Tensor((2, 3), dtype="bool"))
        d = R.call_tir(cls.equal, (n, t), out_ty=R.Tensor((3,), dtype="bool"))
        return (a, b, c, d)
