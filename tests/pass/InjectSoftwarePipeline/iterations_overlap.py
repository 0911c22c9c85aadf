# SPDX-License-Identifier: Apache-2.0
# A buffer that is written a stage before it is read has a version for each of the two iterations; the first iteration starts before the loop.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        for t in T.thread_binding(16, thread="threadIdx.x"):
            for i in T.serial(16, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1], "kept": 1}):
                B = T.alloc_buffer((16,), scope="shared")
                B[t] = A[t, i] * T.float32(2)
                C[t, i] = B[t] + T.float32(1)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        for t in T.thread_binding(16, thread="threadIdx.x"):
            B = T.alloc_buffer((2, 16), scope="shared")
            B[0, t] = A[t, 0] * T.float32(2.0)
            for i in T.serial(15, annotations={"kept": 1}):
                B[(i + 1) % 2, t] = A[t, i + 1] * T.float32(2.0)
                C[t, i] = B[i % 2, t] + T.float32(1.0)
            C[t, 15] = B[1, t] + T.float32(1.0)
