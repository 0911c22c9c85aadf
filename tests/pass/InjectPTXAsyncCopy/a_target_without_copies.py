# SPDX-License-Identifier: Apache-2.0
# Stores, and nothing to wait for.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((256,), "float16"), B: T.Buffer((256,), "float16")):
        S = T.alloc_buffer((256,), "float16", scope="shared")
        for t in T.thread_binding(32, thread="threadIdx.x"):
            with T.attr(0, "async_commit_queue_scope", 0):
                with T.attr(0, "async_scope", 1):
                    S[T.Ramp(t * 8, 1, 8)] = A[T.Ramp(t * 8, 1, 8)]
            with T.attr(0, "async_wait_queue_scope", 0):
                with T.attr(0, "async_wait_inflight_count", 0):
                    B[T.Ramp(t * 8, 1, 8)] = S[T.Ramp(t * 8, 1, 8)]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((256,), "float16"), B: T.Buffer((256,), "float16")):
        S = T.alloc_buffer((256,), "float16", scope="shared")
        for t in T.thread_binding(32, thread="threadIdx.x"):
            S[T.Ramp(t * 8, 1, 8)] = A[T.Ramp(t * 8, 1, 8)]
            B[T.Ramp(t * 8, 1, 8)] = S[T.Ramp(t * 8, 1, 8)]
