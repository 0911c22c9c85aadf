# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "max_vector_lanes": 4}
# Ramps, broadcasts, casts, loads, stores, selects, calls and variables in pieces of four lanes and a rest; a scalar condition stays.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "int32"), C: T.Buffer((16,), "float32"), n: T.int32):
        v: T.let[T.float32x6] = A[T.Ramp(0, 1, 6)] * T.Broadcast(T.float32(2), 6)
        C[T.Ramp(n, 2, 6)] = T.Select(B[T.Ramp(0, 1, 6)] < T.Broadcast(n, 6), v, T.exp(v) + T.Cast("float32x6", B[T.Ramp(6, 1, 6)]))
        C[T.Ramp(0, 1, 8)] = T.if_then_else(n < 4, A[T.Ramp(0, 1, 8)], T.Broadcast(T.float32(0), 8))
        C[T.Ramp(0, 1, 4)] = A[T.Ramp(0, 1, 4)]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "int32"), C: T.Buffer((16,), "float32"), n: T.int32):
        v: T.let[T.float32x4] = A[T.Ramp(0, 1, 4)] * T.Broadcast(T.float32(2.0), 4)
        v_1: T.let[T.float32x2] = A[T.Ramp(4, 1, 2)] * T.Broadcast(T.float32(2.0), 2)
        C[T.Ramp(n, 2, 4)] = T.Select(B[T.Ramp(0, 1, 4)] < T.Broadcast(n, 4), v, T.exp(v) + T.Cast("float32x4", B[T.Ramp(6, 1, 4)]))
        C[T.Ramp(n + 8, 2, 2)] = T.Select(B[T.Ramp(4, 1, 2)] < T.Broadcast(n, 2), v_1, T.exp(v_1) + T.Cast("float32x2", B[T.Ramp(10, 1, 2)]))
        C[T.Ramp(0, 1, 4)] = T.if_then_else(n < 4, A[T.Ramp(0, 1, 4)], T.Broadcast(T.float32(0.0), 4))
        C[T.Ramp(4, 1, 4)] = T.if_then_else(n < 4, A[T.Ramp(4, 1, 4)], T.Broadcast(T.float32(0.0), 4))
        C[T.Ramp(0, 1, 4)] = A[T.Ramp(0, 1, 4)]
