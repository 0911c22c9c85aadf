# SPDX-License-Identifier: Apache-2.0
# 60,000 bytes are more than a kernel declares: all get the scope of what a launch gives. C has the place of A.
# target: {"kind": "cuda", "max_shared_memory_per_block": 49152, "max_dynamic_shared_memory_per_block": 166912}
@I.ir_module
class Before:
    @T.prim_func
    def main(X: T.Buffer((10000,), "float32"), Y: T.Buffer((10000,), "float32")):
        A = T.alloc_buffer((10000,), scope="shared")
        B = T.alloc_buffer((5000,), scope="shared")
        C = T.alloc_buffer((64,), scope="shared")
        for t in T.thread_binding(50, thread="threadIdx.x"):
            for i in range(200):
                A[i * 50 + t] = X[i * 50 + t]
            B[t] = X[t]
            T.tvm_storage_sync("shared")
            for i in range(200):
                Y[i * 50 + t] = A[9999 - (i * 50 + t)] + B[49 - t]
            T.tvm_storage_sync("shared")
            C[t] = Y[t]
            T.tvm_storage_sync("shared")
            Y[t] = C[49 - t]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(X: T.Buffer((10000,), "float32"), Y: T.Buffer((10000,), "float32")):
        A = T.alloc_buffer((10000,), scope="shared.dyn")
        B = T.alloc_buffer((5000,), scope="shared.dyn")
        for t in T.thread_binding(50, thread="threadIdx.x"):
            C = T.decl_buffer((64,), data=B.data, scope="shared.dyn")
            for i in range(200):
                A[i * 50 + t] = X[i * 50 + t]
            B[t] = X[t]
            T.tvm_storage_sync("shared")
            for i_1 in range(200):
                Y[i_1 * 50 + t] = A[9999 - (i_1 * 50 + t)] + B[49 - t]
            T.tvm_storage_sync("shared")
            C[t] = Y[t]
            T.tvm_storage_sync("shared")
            Y[t] = C[49 - t]
