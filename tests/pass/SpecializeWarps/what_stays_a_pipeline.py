# SPDX-License-Identifier: Apache-2.0
# The late statement writes to shared memory as well: the loop stays a pipeline.
# target: {"kind": "cuda", "supports_async_copy": true, "max_threads_per_block": 1024}
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((8, 64), "float32"), B: T.Buffer((64,), "float32")):
        S = T.alloc_buffer((64,), scope="shared")
        E = T.alloc_buffer((64,), scope="shared")
        for w in T.thread_binding(2, thread="threadIdx.y"):
            for t in T.thread_binding(32, thread="threadIdx.x"):
                C = T.alloc_buffer((1,), scope="local")
                C[0] = T.float32(0)
                for k in T.serial(8, annotations={"software_pipeline_stage": [0, 1, 1], "software_pipeline_order": [0, 1, 2], "software_pipeline_async_stages": [0], "software_pipeline_producer_warps": 1}):
                    T.tvm_storage_sync("shared")
                    S[w * 32 + t] = A[k, w * 32 + t]
                    T.tvm_storage_sync("shared")
                    C[0] = C[0] + S[63 - (w * 32 + t)]
                    E[w * 32 + t] = C[0]
                E[w * 32 + t] = C[0]
                T.tvm_storage_sync("shared")
                B[w * 32 + t] = E[(w * 32 + t + 33) % 64]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((8, 64), "float32"), B: T.Buffer((64,), "float32")):
        S = T.alloc_buffer((64,), scope="shared")
        E = T.alloc_buffer((64,), scope="shared")
        for w in T.thread_binding(2, thread="threadIdx.y"):
            for t in T.thread_binding(32, thread="threadIdx.x"):
                C = T.alloc_buffer((1,), scope="local")
                C[0] = T.float32(0.0)
                for k in T.serial(8, annotations={"software_pipeline_async_stages": [0], "software_pipeline_order": [0, 1, 2], "software_pipeline_stage": [0, 1, 1]}):
                    T.tvm_storage_sync("shared")
                    S[w * 32 + t] = A[k, w * 32 + t]
                    T.tvm_storage_sync("shared")
                    C[0] = C[0] + S[63 - (w * 32 + t)]
                    E[w * 32 + t] = C[0]
                E[w * 32 + t] = C[0]
                T.tvm_storage_sync("shared")
                B[w * 32 + t] = E[(w * 32 + t + 33) % 64]
