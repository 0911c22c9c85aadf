# SPDX-License-Identifier: Apache-2.0
# passes: ConvertBlocksToOpaque, CompactBufferAllocation
# Of S a tile of 16 by 16 lives in a turn of b; its rows are 17 elements apart, so that a column lies in different banks.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64, 16), "float32"), B: T.Buffer((64, 16), "float32")):
        S = T.sblock_alloc_buffer((64, 16), scope="shared")
        for b in T.thread_binding(4, thread="blockIdx.x"):
            for i in range(16):
                for t in T.thread_binding(16, thread="threadIdx.x"):
                    with T.sblock("S"):
                        vi = T.axis.spatial(64, b * 16 + i)
                        vj = T.axis.spatial(16, t)
                        T.reads(A[vi, vj])
                        T.writes(S[vi, vj])
                        T.sblock_attr({"buffer_dim_align": [[0, 0, 16, 1]]})
                        S[vi, vj] = A[vi, vj]
            for i in range(16):
                for t in T.thread_binding(16, thread="threadIdx.x"):
                    with T.sblock("B"):
                        vi = T.axis.spatial(64, b * 16 + t)
                        vj = T.axis.spatial(16, i)
                        T.reads(S[vi, vj])
                        T.writes(B[vi, vj])
                        B[vi, vj] = S[vi, vj]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64, 16), "float32"), B: T.Buffer((64, 16), "float32")):
        S = T.alloc_buffer((16, 16), strides=[17, 1], scope="shared")
        for b in T.thread_binding(4, thread="blockIdx.x"):
            for i in range(16):
                for t in T.thread_binding(16, thread="threadIdx.x"):
                    S[b * 16 + i - b * 16, t] = A[b * 16 + i, t]
            for i_1 in range(16):
                for t_1 in T.thread_binding(16, thread="threadIdx.x"):
                    B[b * 16 + t_1, i_1] = S[b * 16 + t_1 - b * 16, i_1]
