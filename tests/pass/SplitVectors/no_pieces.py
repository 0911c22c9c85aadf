# SPDX-License-Identifier: Apache-2.0
# target: {"kind": "vulkan", "max_vector_lanes": 4}
# error: a call of 'tirx.call_extern' of float32x8 cannot be split into vectors of at most 4 lanes
# at: 10
# A call with effects has no pieces.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        B[T.Ramp(0, 1, 8)] = T.call_extern("float32x8", "fill", A[T.Ramp(0, 1, 8)])
