# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[Fallback]}
# target: opencl
# A kernel for each block; a reduction is computed in a register, with what reads it.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((7, 300), "float32"), C: T.Buffer((7, 300), "float32"), D: T.Buffer((7,), "float32")):
        x = T.sblock_alloc_buffer((7, 300))
        y = T.sblock_alloc_buffer((7,))
        for i, j in T.grid(7, 300):
            with T.sblock("x"):
                vi, vj = T.axis.remap("SS", [i, j])
                x[vi, vj] = A[vi, vj] + T.float32(1)
        for i, j in T.grid(7, 300):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.exp(x[vi, vj])
        for i, j in T.grid(7, 300):
            with T.sblock("y"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    y[vi] = T.float32(0)
                y[vi] = y[vi] + x[vi, vj]
        for i in T.grid(7):
            with T.sblock("D"):
                vi = T.axis.remap("S", [i])
                D[vi] = T.exp(y[vi])
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((7, 300), "float32"), C: T.Buffer((7, 300), "float32"), D: T.Buffer((7,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        y = T.sblock_alloc_buffer((7,), scope="local")
        for i_j_0 in T.thread_binding(9, thread="blockIdx.x"):
            for i_j_1 in T.thread_binding(256, thread="threadIdx.x"):
                with T.sblock("C"):
                    vi = T.axis.spatial(7, (i_j_0 * 256 + i_j_1) // 300)
                    vj = T.axis.spatial(300, (i_j_0 * 256 + i_j_1) % 300)
                    T.where(i_j_0 * 256 + i_j_1 < 2100)
                    T.reads(A[vi, vj])
                    T.writes(C[vi, vj])
                    C[vi, vj] = T.exp(A[vi, vj] + T.float32(1.0))
        for i_0 in T.thread_binding(1, thread="blockIdx.x"):
            for i_1 in T.thread_binding(7, thread="threadIdx.x"):
                for vi_i in range(1):
                    with T.sblock("y_init"):
                        vi_init = T.axis.spatial(7, i_1 + vi_i)
                        T.reads()
                        T.writes(y[vi_init])
                        y[vi_init] = T.float32(0.0)
                    for vj_i in range(300):
                        with T.sblock("y_update"):
                            vi_1 = T.axis.spatial(7, i_1 + vi_i)
                            vj_1 = T.axis.remap("R", [vj_i])
                            T.reads(y[vi_1], A[vi_1, vj_1])
                            T.writes(y[vi_1])
                            y[vi_1] = y[vi_1] + (A[vi_1, vj_1] + T.float32(1.0))
                with T.sblock("D"):
                    vi_2 = T.axis.spatial(7, i_0 * 7 + i_1)
                    T.reads(y[vi_2])
                    T.writes(D[vi_2])
                    D[vi_2] = T.exp(y[vi_2])
