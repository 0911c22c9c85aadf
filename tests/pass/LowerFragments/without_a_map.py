# SPDX-License-Identifier: Apache-2.0
# error: the fragment 'C' has no index map (fragment_layout)
@I.ir_module
class Before:
    @T.prim_func
    def main(B: T.Buffer((32,), "float32")):
        C = T.alloc_buffer((32,), scope="fragment")
        for t in T.thread_binding(32, thread="threadIdx.x"):
            C[t] = T.float32(0)
            B[t] = C[t]
