# SPDX-License-Identifier: Apache-2.0
# The loop may have fewer iterations than the pipeline stages.
@I.ir_module
class Before:
    @T.prim_func
    def main(a: T.handle, c: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,), "float32")
        C = T.match_buffer(c, (n,), "float32")
        for i in T.serial(n, annotations={"software_pipeline_stage": [0, 1, 2], "software_pipeline_order": [0, 1, 2]}):
            X = T.alloc_buffer((1,), scope="local")
            Y = T.alloc_buffer((1,), scope="local")
            X[0] = A[i] * T.float32(2)
            Y[0] = X[0] + T.float32(1)
            C[i] = Y[0] * X[0]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(a: T.handle, c: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,))
        C = T.match_buffer(c, (n,))
        X = T.alloc_buffer((3, 1), scope="local")
        Y = T.alloc_buffer((2, 1), scope="local")
        for i in T.unroll(2):
            if i < n:
                X[i, 0] = A[i] * T.float32(2.0)
            if 1 <= i and i < n + 1:
                Y[(i + 1) % 2, 0] = X[(i + 2) % 3, 0] + T.float32(1.0)
        for i_1 in range(n - 2):
            X[(i_1 + 2) % 3, 0] = A[i_1 + 2] * T.float32(2.0)
            Y[(i_1 + 1) % 2, 0] = X[(i_1 + 1) % 3, 0] + T.float32(1.0)
            C[i_1] = Y[i_1 % 2, 0] * X[i_1 % 3, 0]
        for i_2 in T.unroll(2):
            if 1 <= n + i_2 and i_2 < 1 and 2 <= n + i_2:
                Y[(n + i_2 + 1) % 2, 0] = X[(n + i_2 + 2) % 3, 0] + T.float32(1.0)
            if 2 <= n + i_2:
                C[n + i_2 - 2] = Y[(n + i_2) % 2, 0] * X[(n + i_2 + 1) % 3, 0]
