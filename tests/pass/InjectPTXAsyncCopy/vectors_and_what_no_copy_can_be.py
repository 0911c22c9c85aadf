# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "cuda", "supports_async_copy": true}
# Sixteen bytes at a multiple of them, also under a condition, are copied; two bytes, a sum, and a vector that may begin anywhere are stored.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((4096,), "float16"), B: T.Buffer((256,), "float16"), n: T.int32):
        S = T.alloc_buffer((1024,), "float16", scope="shared")
        for t in T.thread_binding(32, thread="threadIdx.x"):
            for i in range(4):
                with T.attr(0, "async_commit_queue_scope", 0):
                    with T.attr(0, "async_scope", 1):
                        S[T.Ramp(t * 8, 1, 8)] = A[T.Ramp(i * 256 + t * 8, 1, 8)]
                    with T.attr(0, "async_scope", 1):
                        S[T.Ramp(t * 8 + 256, 1, 8)] = T.if_then_else(t < n, A[T.Ramp(i * 256 + t * 8, 1, 8)], T.Broadcast(T.float16(0), 8))
                    with T.attr(0, "async_scope", 1):
                        S[t + 512] = A[t]
                        S[T.Ramp(t * 8 + 512, 1, 8)] = A[T.Ramp(t * 8, 1, 8)] + A[T.Ramp(t * 8, 1, 8)]
                        S[T.Ramp(t * 8 + 512, 1, 8)] = A[T.Ramp(t * 8 + n, 1, 8)]
                with T.attr(0, "async_wait_queue_scope", 0):
                    with T.attr(0, "async_wait_inflight_count", 1):
                        B[t] = S[t]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((4096,), "float16"), B: T.Buffer((256,), "float16"), n: T.int32):
        S = T.alloc_buffer((1024,), "float16", scope="shared")
        for t in T.thread_binding(32, thread="threadIdx.x"):
            for i in range(4):
                T.call_intrin("float16", "tirx.ptx_cp_async", "float16", T.address_of(S[t * 8]), 0, T.address_of(A[i * 256 + t * 8]), 0, 16)
                T.call_intrin("float16", "tirx.ptx_cp_async", "float16", T.address_of(S[t * 8 + 256]), 0, T.address_of(A[i * 256 + t * 8]), 0, 16, t < n)
                S[t + 512] = A[t]
                S[T.Ramp(t * 8 + 512, 1, 8)] = A[T.Ramp(t * 8, 1, 8)] + A[T.Ramp(t * 8, 1, 8)]
                S[T.Ramp(t * 8 + 512, 1, 8)] = A[T.Ramp(t * 8 + n, 1, 8)]
                T.call_intrin("int32", "tirx.ptx_commit_group")
                T.call_intrin("int32", "tirx.ptx_wait_group", 1)
                B[t] = S[t]
