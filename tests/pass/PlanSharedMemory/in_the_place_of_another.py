# SPDX-License-Identifier: Apache-2.0
# B is first written behind the barrier after the last use of A; D lives at the same time as B.
@I.ir_module
class Before:
    @T.prim_func
    def main(X: T.Buffer((128,), "float32"), Y: T.Buffer((128,), "float32")):
        A = T.alloc_buffer((128,), scope="shared")
        B = T.alloc_buffer((128,), "int32", scope="shared")
        D = T.alloc_buffer((64,), scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            A[t] = X[t]
            A[t + 64] = X[t + 64]
            T.tvm_storage_sync("shared")
            Y[t] = A[127 - t]
            T.tvm_storage_sync("shared")
            B[t] = t
            D[t] = X[t]
            T.tvm_storage_sync("shared")
            Y[t + 64] = T.Cast("float32", B[63 - t]) + D[63 - t]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(X: T.Buffer((128,), "float32"), Y: T.Buffer((128,), "float32")):
        A = T.alloc_buffer((128,), scope="shared")
        D = T.alloc_buffer((64,), scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            B = T.decl_buffer((128,), "int32", data=A.data, scope="shared")
            A[t] = X[t]
            A[t + 64] = X[t + 64]
            T.tvm_storage_sync("shared")
            Y[t] = A[127 - t]
            T.tvm_storage_sync("shared")
            B[t] = t
            D[t] = X[t]
            T.tvm_storage_sync("shared")
            Y[t + 64] = T.Cast("float32", B[63 - t]) + D[63 - t]
