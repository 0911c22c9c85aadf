# SPDX-License-Identifier: Apache-2.0
# A copy over an axis that is not spatial is left alone.
# passes: RewriteDataflowReshape
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def last(A: T.Buffer((T.int64(2), T.int64(3)), "float32"), B: T.Buffer((T.int64(6),), "float32")):
        T.func_attr({"op_pattern": 2})
        for i, j in T.grid(T.int64(2), T.int64(3)):
            with T.sblock("last"):
                vi, vj = T.axis.remap("SR", [i, j])
                B[vi * T.int64(3) + vj] = A[vi, vj]

    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            lv = R.call_tir(Before.last, (x,), out_ty=R.Tensor((6,), "float32"))
            gv = R.exp(lv)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def last(A: T.Buffer((T.int64(2), T.int64(3)), "float32"), B: T.Buffer((T.int64(6),), "float32")):
        T.func_attr({"op_pattern": 2})
        # with T.sblock("root"):
        for i, j in T.grid(T.int64(2), T.int64(3)):
            with T.sblock("last"):
                vi, vj = T.axis.remap("SR", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi * T.int64(3) + vj])
                B[vi * T.int64(3) + vj] = A[vi, vj]

    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((6,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            lv = R.call_tir(cls.last, (x,), out_ty=R.Tensor((6,), dtype="float32"))
            gv: R.Tensor((6,), dtype="float32") = R.exp(lv)
            R.output(gv)
        return gv
