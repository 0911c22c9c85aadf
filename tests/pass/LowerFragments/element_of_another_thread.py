# SPDX-License-Identifier: Apache-2.0
# error: accessed by a thread that does not certainly hold the element
# at: 11
# A thread reads registers of its own alone.
@I.ir_module
class Before:
    @T.prim_func
    def main(B: T.Buffer((32,), "float32")):
        C = T.alloc_buffer((32,), scope="fragment", annotations={"fragment_layout": T.index_map(lambda i: (i, 0))})
        for t in T.thread_binding(32, thread="threadIdx.x"):
            B[t] = C[31 - t]
