# SPDX-License-Identifier: Apache-2.0
# An output in place of an argument has that one's extents, others those that the program wants.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def f(A: T.Buffer(("m",), "float32"), B: T.Buffer((m + 1,), "float32")):
        m = T.int64()
        for i in range(m):
            with T.sblock("b"):
                v = T.axis.spatial(m, i)
                B[v] = A[v]
                A[v] = A[v] + T.float32(1)
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("k",), "float32")):
        n = T.int64()
        k = T.int64()
        cls = Before
        with R.dataflow():
            gv = R.call_tir_inplace(cls.f, (x,), inplace_indices=[0, -1], out_ty=[R.Tensor((n * 2,), "float32"), R.Tensor((k,), "float32")])
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def f(var_A: T.handle, var_B: T.handle):
        m = T.int64()
        A = T.match_buffer(var_A, (m,))
        B = T.match_buffer(var_B, (m + T.int64(1),))
        # with T.sblock("root"):
        for i in range(m):
            with T.sblock("b"):
                v = T.axis.remap("S", [i])
                T.reads(A[v])
                T.writes(B[v], A[v])
                B[v] = A[v]
                A[v] = A[v] + T.float32(1.0)

    @R.function
    def main(x: R.Tensor(("n",), dtype="float32"), y: R.Tensor(("k",), dtype="float32")) -> R.Tuple(R.Tensor(("n * 2",), dtype="float32"), R.Tensor(("k",), dtype="float32")):
        n = T.int64()
        k = T.int64()
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        R.assert_op(R.prim_value(n == 0), n, R.prim_value(n * 2), n, format="line 19 (relax.call_tir_inplace): argument 0 of 'f' has extent {} in axis 0, but the output in its place {}; axis 0 of 'x' is {}")
        R.assert_op(R.prim_value(k == 1), k, R.prim_value(n + 1), k, n, format="line 19 (relax.call_tir_inplace): argument 1 of 'f' has extent {} in axis 0, but the program wants {}; axis 0 of 'y' is {}, axis 0 of 'x' is {}")
        with R.dataflow():
            gv: R.Tuple(R.Tensor((n * 2,), dtype="float32"), R.Tensor((k,), dtype="float32")) = R.call_tir_inplace(cls.f, (x,), inplace_indices=[0, -1], out_ty=[R.Tensor((n * 2,), dtype="float32"), R.Tensor((k,), dtype="float32")])
            R.output(gv)
        return gv
