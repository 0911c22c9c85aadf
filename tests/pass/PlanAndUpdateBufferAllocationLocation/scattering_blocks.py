# SPDX-License-Identifier: Apache-2.0
# A choice between elements that were read is data: rows that blocks add to at wrapped indices are their own.
@I.ir_module
class Before:
    @T.prim_func
    def main(I: T.Buffer((6, 5), "int64"), A: T.Buffer((6, 5), "float32"), C: T.Buffer((6, 8), "float32")):
        for i in T.thread_binding(6, thread="blockIdx.x"):
            for j in range(5):
                C[i, T.Select(I[i, j] < 0, I[i, j] + 8, I[i, j])] = C[i, T.Select(I[i, j] < 0, I[i, j] + 8, I[i, j])] + A[i, j]

@I.ir_module
class Expected:
    @T.prim_func
    def main(I: T.Buffer((6, 5), "int64"), A: T.Buffer((6, 5), "float32"), C: T.Buffer((6, 8), "float32")):
        for i in T.thread_binding(6, thread="blockIdx.x"):
            for j in range(5):
                C[i, T.Select(I[i, j] < 0, I[i, j] + 8, I[i, j])] = C[i, T.Select(I[i, j] < 0, I[i, j] + 8, I[i, j])] + A[i, j]
