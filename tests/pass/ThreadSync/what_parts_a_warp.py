# SPDX-License-Identifier: Apache-2.0
# error: threads have to wait for each other inside of what only some of them run
# at: 11
# target: {"kind": "cuda", "thread_warp_size": 32, "named_barriers": 15, "max_threads_per_block": 1024}
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        S = T.alloc_buffer((64,), scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            if t < 48:
                S[t] = A[t]
                B[t] = S[47 - t]
