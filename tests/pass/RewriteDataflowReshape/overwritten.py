# SPDX-License-Identifier: Apache-2.0
# A copy of which either side is overwritten stays a copy.
# passes: LegalizeOps, RewriteDataflowReshape
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def bump(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("bump"):
                vi = T.axis.spatial(T.int64(4), i)
                x[vi] = x[vi] + y[vi]

    @R.function
    def main(x: R.Tensor((2, 2), "float32"), y: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        cls = Before
        with R.dataflow():
            a = R.reshape(x, R.shape([4]))
            b = R.call_tir_inplace(cls.bump, (a, y), inplace_indices=[0], out_ty=R.Tensor((4,), "float32"))
            c = R.add(y, y)
            d = R.reshape(c, R.shape([2, 2]))
            e = R.call_tir_inplace(cls.bump, (c, y), inplace_indices=[0], out_ty=R.Tensor((4,), "float32"))
            f = R.reshape(d, R.shape([4]))
            g = R.add(f, y)
            R.output(b, e, g)
        return (b, e, g)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def add(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32"), T_add: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(4)):
            with T.sblock("T_add"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0], B[v_ax0])
                T.writes(T_add[v_ax0])
                T_add[v_ax0] = A[v_ax0] + B[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def bump(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        # with T.sblock("root"):
        for i in range(T.int64(4)):
            with T.sblock("bump"):
                vi = T.axis.remap("S", [i])
                T.reads(x[vi], y[vi])
                T.writes(x[vi])
                x[vi] = x[vi] + y[vi]

    @T.prim_func(private=True, s_tir=True)
    def reshape(A: T.Buffer((T.int64(2), T.int64(2)), "float32"), T_reshape: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(4)):
            with T.sblock("T_reshape"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0 % T.int64(4) // T.int64(2), v_ax0 % T.int64(2)])
                T.writes(T_reshape[v_ax0])
                T_reshape[v_ax0] = A[v_ax0 % T.int64(4) // T.int64(2), v_ax0 % T.int64(2)]

    @T.prim_func(private=True, s_tir=True)
    def reshape1(A: T.Buffer((T.int64(4),), "float32"), T_reshape: T.Buffer((T.int64(2), T.int64(2)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(2), T.int64(2)):
            with T.sblock("T_reshape"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[(v_ax0 * T.int64(2) + v_ax1) % T.int64(4)])
                T.writes(T_reshape[v_ax0, v_ax1])
                T_reshape[v_ax0, v_ax1] = A[(v_ax0 * T.int64(2) + v_ax1) % T.int64(4)]

    @R.function
    def main(x: R.Tensor((2, 2), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")):
        cls = Expected
        with R.dataflow():
            a = R.call_tir(cls.reshape, (x,), out_ty=R.Tensor((4,), dtype="float32"))
            b: R.Tensor((4,), dtype="float32") = R.call_tir_inplace(cls.bump, (a, y), inplace_indices=[0], out_ty=R.Tensor((4,), dtype="float32"))
            c = R.call_tir(cls.add, (y, y), out_ty=R.Tensor((4,), dtype="float32"))
            d = R.call_tir(cls.reshape1, (c,), out_ty=R.Tensor((2, 2), dtype="float32"))
            e: R.Tensor((4,), dtype="float32") = R.call_tir_inplace(cls.bump, (c, y), inplace_indices=[0], out_ty=R.Tensor((4,), dtype="float32"))
            f: R.Tensor((4,), dtype="float32") = R.reshape(d, R.shape([4]))
            g = R.call_tir(cls.add, (f, y), out_ty=R.Tensor((4,), dtype="float32"))
            R.output(b, e, g)
        return (b, e, g)
