# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "max_vector_lanes": 4}
# Lanes of wide vectors are found in their pieces; a value that reads what the store writes is computed before.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        B[T.Ramp(0, 1, 8)] = T.Shuffle([A[T.Ramp(0, 1, 8)]], [7, 6, 5, 4, 3, 2, 1, 0])
        B[9] = T.Shuffle([A[T.Ramp(0, 1, 8)]], [6])
        A[T.Ramp(1, 1, 8)] = A[T.Ramp(0, 1, 8)] + T.Broadcast(B[0], 8)
        B[T.Ramp(0, 1, 8)] = B[T.Ramp(0, 1, 8)] + T.Broadcast(A[0], 8)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        B[T.Ramp(0, 1, 4)] = T.Shuffle([A[7], A[6], A[5], A[4]], [0, 1, 2, 3])
        B[T.Ramp(4, 1, 4)] = T.Shuffle([A[3], A[2], A[1], A[0]], [0, 1, 2, 3])
        B[9] = A[6]
        piece: T.let[T.float32x4] = A[T.Ramp(0, 1, 4)] + T.Broadcast(B[0], 4)
        piece_1: T.let[T.float32x4] = A[T.Ramp(4, 1, 4)] + T.Broadcast(B[0], 4)
        A[T.Ramp(1, 1, 4)] = piece
        A[T.Ramp(5, 1, 4)] = piece_1
        B[T.Ramp(0, 1, 4)] = B[T.Ramp(0, 1, 4)] + T.Broadcast(A[0], 4)
        B[T.Ramp(4, 1, 4)] = B[T.Ramp(4, 1, 4)] + T.Broadcast(A[0], 4)
