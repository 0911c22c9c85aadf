# SPDX-License-Identifier: Apache-2.0
# error: a block needs 80000 bytes of shared memory, target 'cuda' has 65536
# at: 9
# target: {"kind": "cuda", "max_shared_memory_per_block": 49152, "max_dynamic_shared_memory_per_block": 65536}
@I.ir_module
class Before:
    @T.prim_func
    def main(X: T.Buffer((20000,), "float32")):
        A = T.alloc_buffer((20000,), scope="shared")
        for t in T.thread_binding(50, thread="threadIdx.x"):
            A[t] = X[t]
            X[t] = A[t] + 1.0
