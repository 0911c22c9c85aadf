# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[Transpose]}
# target: opencl
# A tile passes through shared memory; what computes the source goes there.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((2, 100, 60), "float16"), C: T.Buffer((2, 60, 100), "float16")):
        x = T.sblock_alloc_buffer((2, 100, 60), "float16")
        for b, i, j in T.grid(2, 100, 60):
            with T.sblock("x"):
                vb, vi, vj = T.axis.remap("SSS", [b, i, j])
                x[vb, vi, vj] = A[vb, vi, vj] * T.float16(2)
        for b, i, j in T.grid(2, 60, 100):
            with T.sblock("C"):
                vb, vi, vj = T.axis.remap("SSS", [b, i, j])
                C[vb, vi, vj] = x[vb, vj, vi] + T.float16(1)

    @T.prim_func(s_tir=True)
    def not_one(A: T.Buffer((60, 4, 8), "float16"), C: T.Buffer((4, 60, 8), "float16")):
        for b, i, j in T.grid(4, 60, 8):
            with T.sblock("C"):
                vb, vi, vj = T.axis.remap("SSS", [b, i, j])
                C[vb, vi, vj] = A[vi, vb, vj]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((2, 100, 60), "float16"), C: T.Buffer((2, 60, 100), "float16")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        x_shared = T.sblock_alloc_buffer((2, 100, 60), "float16", scope="shared")
        for b_i_0_j_0 in T.thread_binding(16, thread="blockIdx.x"):
            for v0_i, v1_i_0 in T.grid(1, 4):
                for v1_i_1 in T.thread_binding(8, thread="threadIdx.y"):
                    for v2_i_0 in range(1):
                        for v2_i_1 in T.thread_binding(32, thread="threadIdx.x"):
                            with T.sblock("x_shared"):
                                v0 = T.axis.spatial(2, b_i_0_j_0 // 8 + v0_i)
                                v1 = T.axis.spatial(100, b_i_0_j_0 % 4 * 32 + (v1_i_0 * 8 + v1_i_1))
                                v2 = T.axis.spatial(60, b_i_0_j_0 % 8 // 4 * 32 + (v2_i_0 * 32 + v2_i_1))
                                T.where(b_i_0_j_0 % 4 * 32 + (v1_i_0 * 8 + v1_i_1) < 100 and b_i_0_j_0 % 8 // 4 * 32 + (v2_i_0 * 32 + v2_i_1) < 60)
                                T.reads(A[v0, v1, v2])
                                T.writes(x_shared[v0, v1, v2])
                                T.sblock_attr({"buffer_dim_align": [[0, 1, 32, 1]]})
                                x_shared[v0, v1, v2] = A[v0, v1, v2] * T.float16(2.0)
            for i_1_0 in range(4):
                for i_1_1 in T.thread_binding(8, thread="threadIdx.y"):
                    for j_1 in T.thread_binding(32, thread="threadIdx.x"):
                        with T.sblock("C"):
                            vb = T.axis.spatial(2, b_i_0_j_0 // 4 // 2)
                            vi = T.axis.spatial(60, b_i_0_j_0 // 4 % 2 * 32 + (i_1_0 * 8 + i_1_1))
                            vj = T.axis.spatial(100, b_i_0_j_0 % 4 * 32 + j_1)
                            T.where(b_i_0_j_0 // 4 % 2 * 32 + (i_1_0 * 8 + i_1_1) < 60 and b_i_0_j_0 % 4 * 32 + j_1 < 100)
                            T.reads(x_shared[vb, vj, vi])
                            T.writes(C[vb, vi, vj])
                            C[vb, vi, vj] = x_shared[vb, vj, vi] + T.float16(1.0)

    @T.prim_func(s_tir=True)
    def not_one(A: T.Buffer((60, 4, 8), "float16"), C: T.Buffer((4, 60, 8), "float16")):
        # with T.sblock("root"):
        for b, i, j in T.grid(4, 60, 8):
            with T.sblock("C"):
                vb, vi, vj = T.axis.remap("SSS", [b, i, j])
                T.reads(A[vi, vb, vj])
                T.writes(C[vb, vi, vj])
                C[vb, vi, vj] = A[vi, vb, vj]
