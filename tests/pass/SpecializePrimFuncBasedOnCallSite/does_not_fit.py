# SPDX-License-Identifier: Apache-2.0
# A call whose tensors need not agree stays; an extent that the program knows stays known.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def add(a: T.handle, b: T.handle, c: T.handle):
        m = T.int64()
        A = T.match_buffer(a, (m,))
        B = T.match_buffer(b, (m,))
        C = T.match_buffer(c, (m,))
        for i in range(m):
            with T.sblock("add"):
                v = T.axis.spatial(m, i)
                C[v] = A[v] + B[v]

    @T.prim_func(private=True, s_tir=True)
    def four(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("four"):
                v = T.axis.spatial(T.int64(4), i)
                B[v] = A[v]

    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("k",), "float32")):
        n = T.int64()
        cls = Before
        with R.dataflow():
            a = R.call_tir(cls.add, (x, y), out_ty=R.Tensor((n,), "float32"))
            b = R.call_tir(cls.four, (x,), out_ty=R.Tensor((n,), "float32"))
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
    def add(a: T.handle, b: T.handle, c: T.handle):
        m = T.int64()
        A = T.match_buffer(a, (m,))
        B = T.match_buffer(b, (m,))
        C = T.match_buffer(c, (m,))
        # with T.sblock("root"):
        for i in range(m):
            with T.sblock("add"):
                v = T.axis.remap("S", [i])
                T.reads(A[v], B[v])
                T.writes(C[v])
                C[v] = A[v] + B[v]

    @T.prim_func(private=True, s_tir=True)
    def four(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"scoped": 1})
        # with T.sblock("root"):
        for i in range(T.int64(4)):
            with T.sblock("four"):
                v = T.axis.remap("S", [i])
                T.reads(A[v])
                T.writes(B[v])
                B[v] = A[v]

    @R.function
    def main(x: R.Tensor(("n",), dtype="float32"), y: R.Tensor(("k",), dtype="float32")) -> R.Tuple(R.Tensor(("n",), dtype="float32"), R.Tensor(("n",), dtype="float32")):
        n = T.int64()
        k = T.int64()
        cls = Expected
        with R.dataflow():
            a = R.call_tir(cls.add, (x, y), out_ty=R.Tensor((n,), dtype="float32"))
            b = R.call_tir(cls.four, (x,), out_ty=R.Tensor((n,), dtype="float32"))
            gv: R.Tuple(R.Tensor((n,), dtype="float32"), R.Tensor((n,), dtype="float32")) = (a, b)
            R.output(gv)
        return gv
