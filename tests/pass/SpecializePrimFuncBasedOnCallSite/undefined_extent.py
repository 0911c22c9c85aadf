# SPDX-License-Identifier: Apache-2.0
# No tensor of the first call has the extent n: n + 1 stays the program's own m. The second call tells n.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def relu(a: T.handle, b: T.handle):
        m = T.int64()
        k = T.int64()
        A = T.match_buffer(a, (m, k))
        B = T.match_buffer(b, (m * k,))
        for i, j in T.grid(m, k):
            with T.sblock("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi * k + vj] = T.max(A[vi, vj], T.float32(0))

    @R.function
    def main(x: R.Tensor(("n", "n + 1"), "float32")):
        n = T.int64()
        cls = Before
        with R.dataflow():
            s: R.Tensor((n + 1, 4), "float32") = R.zeros(R.shape([n + 1, 4]), "float32")
            a = R.call_tir(cls.relu, (s,), out_ty=R.Tensor(((n + 1) * 4,), "float32"))
            b = R.call_tir(cls.relu, (x,), out_ty=R.Tensor((n * (n + 1),), "float32"))
            gv = (a, b)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def relu(a: T.handle, b: T.handle):
        T.func_attr({"scoped": 1})
        m = T.int64()
        A = T.match_buffer(a, (m, T.int64(4)))
        B = T.match_buffer(b, (m * T.int64(4),))
        # with T.sblock("root"):
        for i, j in T.grid(m, T.int64(4)):
            with T.sblock("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi * T.int64(4) + vj])
                B[vi * T.int64(4) + vj] = T.max(A[vi, vj], T.float32(0.0))

    @T.prim_func(private=True, s_tir=True)
    def relu_1(a: T.handle, b: T.handle):
        T.func_attr({"scoped": 1})
        n = T.int64()
        A = T.match_buffer(a, (n, n + T.int64(1)))
        B = T.match_buffer(b, (n * (n + T.int64(1)),))
        # with T.sblock("root"):
        for i, j in T.grid(n, n + T.int64(1)):
            with T.sblock("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi + vi * n + vj])
                B[vi + vi * n + vj] = T.max(A[vi, vj], T.float32(0.0))

    @R.function
    def main(x: R.Tensor(("n", "n + 1"), dtype="float32")) -> R.Tuple(R.Tensor(("(n + 1) * 4",), dtype="float32"), R.Tensor(("n * (n + 1)",), dtype="float32")):
        n = T.int64()
        cls = Expected
        with R.dataflow():
            s: R.Tensor((n + 1, 4), dtype="float32") = R.zeros(R.shape([n + 1, 4]), dtype="float32")
            a = R.call_tir(cls.relu, (s,), out_ty=R.Tensor(((n + 1) * 4,), dtype="float32"))
            b = R.call_tir(cls.relu_1, (x,), out_ty=R.Tensor((n * (n + 1),), dtype="float32"))
            gv: R.Tuple(R.Tensor(((n + 1) * 4,), dtype="float32"), R.Tensor((n * (n + 1),), dtype="float32")) = (a, b)
            R.output(gv)
        return gv
