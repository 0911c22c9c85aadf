# SPDX-License-Identifier: Apache-2.0
# A group stays behind the match_cast that defines the symbols that it uses.
# passes: LegalizeOps, AnnotateTIROpPattern, FuseOps
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor("float32", ndim=1), y: R.Tensor((1,), "int64")) -> R.Tensor("float32", ndim=2):
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            a = R.match_cast(x, R.Tensor((n,), "float32"))
            b = R.expand_dims(a, axis=0)
            s = R.tensor_to_shape(y)
            c = R.match_cast(s, R.Shape([m]))
            d = R.full(R.shape([1, m]), R.const(1, "float32"), dtype="float32")
            e = R.concat((b, d), axis=0)
            R.output(e)
        return e
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def concatenate(var_A: T.handle, var_B: T.handle, var_T_concat: T.handle):
        T.func_attr({"op_pattern": 2, "tirx.noalias": True})
        n = T.int64()
        A = T.match_buffer(var_A, (T.int64(1), n))
        m = T.int64()
        B = T.match_buffer(var_B, (T.int64(1), m))
        T_concat = T.match_buffer(var_T_concat, (T.int64(2), n))
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(2), n):
            with T.sblock("T_concat"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(B[v_ax0 - T.int64(1), v_ax1], A[v_ax0, v_ax1])
                T.writes(T_concat[v_ax0, v_ax1])
                T_concat[v_ax0, v_ax1] = T.if_then_else(T.int64(1) <= v_ax0, B[v_ax0 - T.int64(1), v_ax1], A[v_ax0, v_ax1])

    @T.prim_func(private=True, s_tir=True)
    def expand_dims(var_A: T.handle, var_expand_dims: T.handle):
        T.func_attr({"op_pattern": 1, "tirx.noalias": True})
        n = T.int64()
        A = T.match_buffer(var_A, (n,))
        expand_dims = T.match_buffer(var_expand_dims, (T.int64(1), n))
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(1), n):
            with T.sblock("expand_dims"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax1])
                T.writes(expand_dims[v_ax0, v_ax1])
                expand_dims[v_ax0, v_ax1] = A[v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def full(var_T_full: T.handle):
        T.func_attr({"op_pattern": 0, "tirx.noalias": True})
        m = T.int64()
        T_full = T.match_buffer(var_T_full, (T.int64(1), m))
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(1), m):
            with T.sblock("T_full"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads()
                T.writes(T_full[v_ax0, v_ax1])
                T_full[v_ax0, v_ax1] = T.float32(1.0)

    @R.function(private=True)
    def fused_expand_dims_full_concatenate(a: R.Tensor(("n",), dtype="float32"), tir_vars: R.Shape(["m"])) -> R.Tensor((2, "n"), dtype="float32"):
        n = T.int64()
        m = T.int64()
        R.func_attr({"Primitive": True})
        cls = Expected
        with R.dataflow():
            b = R.call_tir(cls.expand_dims, (a,), out_ty=R.Tensor((1, n), dtype="float32"))
            d = R.call_tir(cls.full, R.tuple(), out_ty=R.Tensor((1, m), dtype="float32"))
            e = R.call_tir(cls.concatenate, (b, d), out_ty=R.Tensor((2, n), dtype="float32"))
            R.output(e)
        return e

    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=1), y: R.Tensor((1,), dtype="int64")) -> R.Tensor(dtype="float32", ndim=2):
        cls = Expected
        with R.dataflow():
            n = T.int64()
            a = R.match_cast(x, R.Tensor((n,), dtype="float32"))
            s: R.Shape(ndim=1) = R.tensor_to_shape(y)
            m = T.int64()
            c = R.match_cast(s, R.Shape([m]))
            e: R.Tensor((2, n), dtype="float32") = cls.fused_expand_dims_full_concatenate(a, R.shape([m]))
            R.output(e)
        return e
