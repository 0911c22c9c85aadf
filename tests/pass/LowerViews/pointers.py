# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "supports_pointers": false}
# A view through moved pointers is an index into the buffer that has the memory; elements of the same width are reinterpreted, vectors
# are neighbours; prefetches go.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(64),), "float32"), B: T.Buffer((T.int64(64),), "int32"), n: T.int64):
        p: T.let[T.handle] = T.handle_add_byte_offset(A.data, n * T.int64(8) + T.int64(16))
        q: T.let[T.handle] = T.address_of(A[T.int64(8)])
        V = T.decl_buffer((T.int64(16),), "int32", data=p)
        W = T.decl_buffer((T.int64(4),), "float32x4", data=q)
        U = T.decl_buffer((T.int64(32),), "int32", data=B.data)
        for i in range(T.int64(4)):
            T.evaluate(T.prefetch(T.address_of(A[i])))
            B[i] = V[i]
            W[i] = T.Broadcast(T.float32(1), 4)
            V[T.Ramp(i * T.int64(4), T.int64(1), 4)] = U[T.Ramp(i, T.int64(1), 4)]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(64),), "float32"), B: T.Buffer((T.int64(64),), "int32"), n: T.int64):
        for i in range(T.int64(4)):
            B[i] = T.reinterpret("int32", A[n * T.int64(2) + T.int64(4) + i])
            A[T.Ramp(T.int64(8) + i * T.int64(4), T.int64(1), 4)] = T.Broadcast(T.float32(1.0), 4)
            A[T.Ramp(n * T.int64(2) + T.int64(4) + i * T.int64(4), T.int64(1), 4)] = T.reinterpret("float32x4", B[T.Ramp(i, T.int64(1), 4)])
