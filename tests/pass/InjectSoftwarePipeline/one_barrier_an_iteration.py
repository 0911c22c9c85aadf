# SPDX-License-Identifier: Apache-2.0
# With barriers in the loop, which are not counted, each iteration begins with one, behind the wait for what was copied; buffers that are
# allocated outside and used in the loop alone have versions, others are left as they are.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((8, 32), "float16"), B: T.Buffer((8, 32), "float16"), C: T.Buffer((8, 32), "float16")):
        X = T.alloc_buffer((32,), "float16", scope="shared")
        Y = T.alloc_buffer((32,), "float16", scope="shared")
        Z = T.alloc_buffer((1,), "float16", scope="local")
        for t in T.thread_binding(32, thread="threadIdx.x"):
            Z[0] = T.float16(0)
            for i in T.serial(8, annotations={"software_pipeline_stage": [0, 0, 2], "software_pipeline_order": [0, 1, 2], "software_pipeline_async_stages": [0]}):
                T.tvm_storage_sync("shared")
                X[t] = A[i, t]
                Y[t] = B[i, t]
                T.tvm_storage_sync("shared")
                Z[0] = Z[0] + X[31 - t] * Y[31 - t]
            C[0, t] = Z[0]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((8, 32), "float16"), B: T.Buffer((8, 32), "float16"), C: T.Buffer((8, 32), "float16")):
        X = T.alloc_buffer((3, 32), "float16", scope="shared")
        Y = T.alloc_buffer((3, 32), "float16", scope="shared")
        Z = T.alloc_buffer((1,), "float16", scope="local")
        for t in T.thread_binding(32, thread="threadIdx.x"):
            Z[0] = T.float16(0.0)
            T.tvm_storage_sync("shared")
            for i in T.unroll(2):
                with T.attr(0, "async_commit_queue_scope", 0):
                    with T.attr(0, "async_scope", 1):
                        X[i, t] = A[i, t]
                    with T.attr(0, "async_scope", 1):
                        Y[i, t] = B[i, t]
            for i_1 in range(6):
                with T.attr(0, "async_wait_queue_scope", 0):
                    with T.attr(0, "async_wait_inflight_count", 1):
                        T.tvm_storage_sync("shared")
                with T.attr(0, "async_commit_queue_scope", 0):
                    with T.attr(0, "async_scope", 1):
                        X[(i_1 + 2) % 3, t] = A[i_1 + 2, t]
                    with T.attr(0, "async_scope", 1):
                        Y[(i_1 + 2) % 3, t] = B[i_1 + 2, t]
                Z[0] = Z[0] + X[i_1 % 3, 31 - t] * Y[i_1 % 3, 31 - t]
            for i_2 in T.unroll(2):
                with T.attr(0, "async_wait_queue_scope", 0):
                    with T.attr(0, "async_wait_inflight_count", 1 - i_2):
                        T.tvm_storage_sync("shared")
                Z[0] = Z[0] + X[i_2, 31 - t] * Y[i_2, 31 - t]
            C[0, t] = Z[0]
