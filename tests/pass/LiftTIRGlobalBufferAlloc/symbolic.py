# SPDX-License-Identifier: Apache-2.0
# Extents are those of the call.
# target: cuda
# passes: LiftTIRGlobalBufferAlloc
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def f(x_: T.handle, y_: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        x = T.match_buffer(x_, (n, T.int64(4)), "float32")
        y = T.match_buffer(y_, (n, T.int64(4)), "float32")
        part = T.sblock_alloc_buffer((n, T.int64(4)), "float32")
        for i, j in T.grid(n, T.int64(4)):
            with T.sblock("part"):
                vi, vj = T.axis.remap("SS", [i, j])
                part[vi, vj] = x[vi, vj] * T.float32(2)
        for i, j in T.grid(n, T.int64(4)):
            with T.sblock("y"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = part[vi, vj] + x[vi, vj]

    @R.function
    def main(x: R.Tensor(("m", 4), "float32")):
        m = T.int64()
        cls = Before
        with R.dataflow():
            gv = R.call_tir(cls.f, (x,), out_ty=R.Tensor((m, 4), "float32"))
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def f1(x_: T.handle, y_: T.handle, var_part: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        x = T.match_buffer(x_, (n, T.int64(4)))
        y = T.match_buffer(y_, (n, T.int64(4)))
        part = T.match_buffer(var_part, (n, T.int64(4)))
        # with T.sblock("root"):
        for i, j in T.grid(n, T.int64(4)):
            with T.sblock("part"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(x[vi, vj])
                T.writes(part[vi, vj])
                part[vi, vj] = x[vi, vj] * T.float32(2.0)
        for i_1, j_1 in T.grid(n, T.int64(4)):
            with T.sblock("y"):
                vi_1, vj_1 = T.axis.remap("SS", [i_1, j_1])
                T.reads(part[vi_1, vj_1], x[vi_1, vj_1])
                T.writes(y[vi_1, vj_1])
                y[vi_1, vj_1] = part[vi_1, vj_1] + x[vi_1, vj_1]

    @R.function
    def main(x: R.Tensor(("m", 4), dtype="float32")) -> R.Tensor(("m", 4), dtype="float32"):
        m = T.int64()
        cls = Expected
        with R.dataflow():
            gv = R.call_tir(cls.f1, (x,), out_ty=[R.Tensor((m, 4), dtype="float32"), R.Tensor((m, 4), dtype="float32")])
            gv_1: R.Tensor((m, 4), dtype="float32") = gv[0]
            R.output(gv_1)
        return gv_1
