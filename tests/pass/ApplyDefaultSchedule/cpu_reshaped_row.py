# SPDX-License-Identifier: Apache-2.0
# The quotients that reshapes leave in an index vanish within the extents, so that a row of one vector's width is loaded as one, and rows become one loop.
# target: {"kind": "cpu", "vector_bytes": 64}
# passes: ApplyDefaultSchedule{rules=[cpu.Elementwise]}
@I.ir_module
class Before:
    @T.prim_func
    def f(x: T.Buffer((T.int64(2), T.int64(16)), "float32"), y: T.Buffer((T.int64(2), T.int64(16)), "float32")):
        T.func_attr({"tirx.noalias": True})
        flat = T.sblock_alloc_buffer((T.int64(32),), "float32")
        for i in range(T.int64(32)):
            with T.sblock("flatten"):
                vi = T.axis.spatial(T.int64(32), i)
                flat[vi] = x[vi // T.int64(16) % T.int64(2), vi % T.int64(16)]
        for i, j in T.grid(T.int64(2), T.int64(16)):
            with T.sblock("tanh"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = T.tanh(flat[vi * T.int64(16) + vj])
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def f(x: T.Buffer((T.int64(2), T.int64(16)), "float32"), y: T.Buffer((T.int64(2), T.int64(16)), "float32")):
        T.func_attr({"tirx.is_scheduled": True, "tirx.noalias": True})
        # with T.sblock("root"):
        for i_j in T.serial(T.int64(32), annotations={"tenon.wide": 16}):
            with T.sblock("tanh"):
                vi = T.axis.spatial(T.int64(2), i_j // T.int64(16))
                vj = T.axis.spatial(T.int64(16), i_j % T.int64(16))
                T.reads(x[vi, vj])
                T.writes(y[vi, vj])
                y[vi, vj] = T.tanh(x[vi, vj])
