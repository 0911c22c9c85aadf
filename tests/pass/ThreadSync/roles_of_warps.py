# SPDX-License-Identifier: Apache-2.0
# Two warps exchange elements, the third another buffer with itself: each role has a barrier with a number. In front of the next use of S all
# threads meet.
# target: {"kind": "cuda", "thread_warp_size": 32, "named_barriers": 15, "max_threads_per_block": 1024}
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((96,), "float32"), B: T.Buffer((96,), "float32")):
        S = T.alloc_buffer((64,), scope="shared")
        D = T.alloc_buffer((32,), scope="shared")
        for w in T.thread_binding(3, thread="threadIdx.y"):
            for t in T.thread_binding(32, thread="threadIdx.x"):
                if w < 2:
                    S[w * 32 + t] = A[w * 32 + t]
                    B[w * 32 + t] = S[63 - (w * 32 + t)]
                else:
                    for i in range(4):
                        D[t] = A[64 + t] + T.Cast("float32", i)
                        B[64 + t] = D[31 - t]
                if w == 2:
                    B[t] = S[t]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((96,), "float32"), B: T.Buffer((96,), "float32")):
        S = T.alloc_buffer((64,), scope="shared")
        D = T.alloc_buffer((32,), scope="shared")
        for w in T.thread_binding(3, thread="threadIdx.y"):
            for t in T.thread_binding(32, thread="threadIdx.x"):
                if w < 2:
                    S[w * 32 + t] = A[w * 32 + t]
                    T.ptx_bar_sync(1, 64)
                    B[w * 32 + t] = S[63 - (w * 32 + t)]
                else:
                    for i in range(4):
                        T.ptx_bar_sync(2, 32)
                        D[t] = A[64 + t] + T.Cast("float32", i)
                        T.ptx_bar_sync(2, 32)
                        B[64 + t] = D[31 - t]
                T.tvm_storage_sync("shared")
                if w == 2:
                    B[t] = S[t]
