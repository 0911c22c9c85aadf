# SPDX-License-Identifier: Apache-2.0
# What modules that other tools export contain: a TypeVar of the module beside a function's own symbol of that
# name, a graph that counts in int64 calling a program that counts in int32, regions by .source, out_dtype=None.
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def narrow(A: T.Buffer(("n",), "float32"), B: T.Buffer((n * 2,), "float32")):
        n = T.int32()
        for i in range(n * 2):
            with T.sblock("b"):
                v = T.axis.spatial(n * 2, i)
                B[v] = A[v // 2]

    @T.prim_func(private=True, s_tir=True)
    def wide(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer((n, m), "float32")):
        n, m = T.int64(), T.int64()
        for i, j in T.grid(n, m):
            with T.sblock("b"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[v, w]

    @T.prim_func(private=True, s_tir=True)
    def cell(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
        row = T.sblock_alloc_buffer((2,), "int32", scope="local")
        for i in range(4):
            row[0] = 0
            m: T.int32 = row[0]
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                T.reads(m.source[0], A[v])
                T.writes(B[v])
                B[v] = A[v] + m

    @R.function
    def main(x: R.Tensor((n,), dtype="float32"), w: R.Tensor((n, 4), "float16")) -> R.Tensor((n * 2,), dtype="float32"):
        cls = Module
        with R.dataflow():
            lv: R.Tensor((n, n), "float16") = R.matmul(w, R.permute_dims(w), out_dtype=None)
            lv1 = R.call_tir(cls.wide, (R.astype(lv, "float32"),), out_ty=R.Tensor((n, n), dtype="float32"))
            gv = R.call_tir(cls.narrow, (x,), out_ty=R.Tensor((n * 2,), dtype="float32"))
            R.output(gv)
        return gv
