# SPDX-License-Identifier: Apache-2.0
# error: the iterations of the loop 'i', bound to blockIdx.x, overlap and accumulate in 'B'
# Blocks of a GPU whose turns overlap in an accumulator in global memory.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((21,), "float32"), C: T.Buffer((21,), "float32")):
        B = T.alloc_buffer((21,), "float32")
        for i in T.thread_binding(6, thread="blockIdx.x"):
            for j in range(4):
                B[T.min(i * 4, 17) + j] = T.float32(0)
            for j in range(4):
                B[T.min(i * 4, 17) + j] = B[T.min(i * 4, 17) + j] + A[T.min(i * 4, 17) + j]
            for j in range(4):
                C[T.min(i * 4, 17) + j] = B[T.min(i * 4, 17) + j]
