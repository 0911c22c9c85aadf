# SPDX-License-Identifier: Apache-2.0
# error: warps of two roles meet in shared memory, and no barrier orders them
# at: 12
# target: {"kind": "cuda", "thread_warp_size": 32, "named_barriers": 15, "max_threads_per_block": 1024}
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        S = T.alloc_buffer((32,), scope="shared")
        D = T.alloc_buffer((32,), scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            if t < 32:
                S[t] = A[t]
                D[t] = A[t]
                B[t] = D[31 - t]
            else:
                B[t] = S[63 - t]
