# SPDX-License-Identifier: Apache-2.0
# Virtual threads that read what others of them write behind a barrier cannot run one after another.
# error: virtual threads (vthread.x) may read from 'S' what others of them write
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
        S = T.alloc_buffer((256,), scope="shared")
        for v in T.thread_binding(4, thread="vthread.x"):
            for t in T.thread_binding(64, thread="threadIdx.x"):
                S[v * 64 + t] = A[v * 64 + t]
            for t in T.thread_binding(64, thread="threadIdx.x"):
                B[v * 64 + t] = S[255 - v * 64 - t]
