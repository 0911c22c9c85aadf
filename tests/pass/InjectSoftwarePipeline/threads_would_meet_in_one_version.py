# SPDX-License-Identifier: Apache-2.0
# Two statements of one stage need the barrier between them: the loop stays.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((8, 32), "float32"), C: T.Buffer((8, 32), "float32")):
        X = T.alloc_buffer((32,), scope="shared")
        Y = T.alloc_buffer((32,), scope="shared")
        for t in T.thread_binding(32, thread="threadIdx.x"):
            for i in T.serial(8, annotations={"software_pipeline_stage": [0, 0, 1], "software_pipeline_order": [0, 1, 2]}):
                T.tvm_storage_sync("shared")
                X[t] = A[i, t]
                T.tvm_storage_sync("shared")
                Y[t] = X[31 - t]
                T.tvm_storage_sync("shared")
                C[i, t] = Y[31 - t]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((8, 32), "float32"), C: T.Buffer((8, 32), "float32")):
        X = T.alloc_buffer((32,), scope="shared")
        Y = T.alloc_buffer((32,), scope="shared")
        for t in T.thread_binding(32, thread="threadIdx.x"):
            for i in range(8):
                T.tvm_storage_sync("shared")
                X[t] = A[i, t]
                T.tvm_storage_sync("shared")
                Y[t] = X[31 - t]
                T.tvm_storage_sync("shared")
                C[i, t] = Y[31 - t]
