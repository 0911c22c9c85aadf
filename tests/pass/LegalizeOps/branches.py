# SPDX-License-Identifier: Apache-2.0
# Calls in branches are legalized too.
@I.ir_module
class Before:
    @R.function
    def main(c: R.Tensor((), dtype="bool"), x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        if c:
            a: R.Tensor((2,), dtype="float32") = R.exp(x)
            y: R.Tensor((2,), dtype="float32") = a
        else:
            b: R.Tensor((2, 1), dtype="float32") = R.expand_dims(x, axis=[1])
            y: R.Tensor((2,), dtype="float32") = R.squeeze(b, axis=[1])
        return y
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def expand_dims(A: T.Buffer((T.int64(2),), "float32"), expand_dims: T.Buffer((T.int64(2), T.int64(1)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(2), T.int64(1)):
            with T.sblock("expand_dims"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax0])
                T.writes(expand_dims[v_ax0, v_ax1])
                expand_dims[v_ax0, v_ax1] = A[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def squeeze(A: T.Buffer((T.int64(2), T.int64(1)), "float32"), T_squeeze: T.Buffer((T.int64(2),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(2)):
            with T.sblock("T_squeeze"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0, T.int64(0)])
                T.writes(T_squeeze[v_ax0])
                T_squeeze[v_ax0] = A[v_ax0, T.int64(0)]

    @T.prim_func(private=True, s_tir=True)
    def tir_exp(A: T.Buffer((T.int64(2),), "float32"), compute: T.Buffer((T.int64(2),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(2)):
            with T.sblock("compute"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(compute[v_ax0])
                compute[v_ax0] = T.exp(A[v_ax0])

    @R.function
    def main(c: R.Tensor((), dtype="bool"), x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        cls = Expected
        if c:
            a = R.call_tir(cls.tir_exp, (x,), out_ty=R.Tensor((2,), dtype="float32"))
            y: R.Tensor((2,), dtype="float32") = a
        else:
            b = R.call_tir(cls.expand_dims, (x,), out_ty=R.Tensor((2, 1), dtype="float32"))
            y_else = R.call_tir(cls.squeeze, (b,), out_ty=R.Tensor((2,), dtype="float32"))
            y: R.Tensor((2,), dtype="float32") = y_else
        return y
