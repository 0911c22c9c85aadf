# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "uniform_barriers": "yes"}
# error: a barrier stands in a while loop that differs between threads
# at: 11
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        S = T.alloc_buffer((64,), scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            while A[t] < T.float32(1):
                A[t] = A[t] + T.float32(0.5)
                T.tvm_storage_sync("shared")
