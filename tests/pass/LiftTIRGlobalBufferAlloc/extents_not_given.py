# SPDX-License-Identifier: Apache-2.0
# An extent that the call does not give: the program stays.
# target: cuda
# passes: LiftTIRGlobalBufferAlloc
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def f(x: T.Buffer((T.int64(8), T.int64(4)), "float32"), k: T.int64, y: T.Buffer((T.int64(8), T.int64(4)), "float32")):
        T.func_attr({"tirx.noalias": True})
        part = T.sblock_alloc_buffer((k, T.int64(4)), "float32")
        for i, j in T.grid(T.int64(8), T.int64(4)):
            with T.sblock("part"):
                vi, vj = T.axis.remap("SS", [i, j])
                part[vi, vj] = x[vi, vj] * T.float32(2)
        for i, j in T.grid(T.int64(8), T.int64(4)):
            with T.sblock("y"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = part[vi, vj] + x[vi, vj]

    @R.function
    def main(x: R.Tensor((8, 4), "float32")):
        cls = Before
        with R.dataflow():
            gv = R.call_tir(cls.f, (x, R.prim_value(8)), out_ty=R.Tensor((8, 4), "float32"))
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def f(x: T.Buffer((T.int64(8), T.int64(4)), "float32"), k: T.int64, y: T.Buffer((T.int64(8), T.int64(4)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        part = T.sblock_alloc_buffer((k, T.int64(4)))
        for i, j in T.grid(T.int64(8), T.int64(4)):
            with T.sblock("part"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(x[vi, vj])
                T.writes(part[vi, vj])
                part[vi, vj] = x[vi, vj] * T.float32(2.0)
        for i_1, j_1 in T.grid(T.int64(8), T.int64(4)):
            with T.sblock("y"):
                vi_1, vj_1 = T.axis.remap("SS", [i_1, j_1])
                T.reads(part[vi_1, vj_1], x[vi_1, vj_1])
                T.writes(y[vi_1, vj_1])
                y[vi_1, vj_1] = part[vi_1, vj_1] + x[vi_1, vj_1]

    @R.function
    def main(x: R.Tensor((8, 4), dtype="float32")) -> R.Tensor((8, 4), dtype="float32"):
        cls = Expected
        with R.dataflow():
            gv = R.call_tir(cls.f, (x, R.prim_value(8)), out_ty=R.Tensor((8, 4), dtype="float32"))
            R.output(gv)
        return gv
