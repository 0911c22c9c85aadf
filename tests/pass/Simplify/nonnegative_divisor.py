# SPDX-License-Identifier: Apache-2.0
# An extent that may be 0 as a divisor: quotient and remainder of what is not negative are not negative, and not above it.
@I.ir_module
class Before:
    @T.prim_func
    def main(c: T.handle):
        b = T.int64()
        m = T.int64()
        C = T.match_buffer(c, (b, m), "float32")
        if b >= T.int64(4):
            for i in T.parallel((b + T.int64(3)) // T.int64(4) * m):
                if i // m >= T.int64(0):
                    C[0, 0] = T.float32(1)
                if i // m * T.int64(4) >= T.int64(0):
                    C[0, 0] = T.float32(2)
                if T.min(b - T.int64(4), i // m * T.int64(4)) >= T.int64(0):
                    C[0, 0] = T.float32(3)
                if i // m < (b + T.int64(3)) // T.int64(4) * m:
                    C[0, 0] = T.float32(5)
                if i // m <= i - T.int64(1):
                    C[0, 0] = T.float32(6)
                if i % m >= T.int64(0):
                    C[0, 0] = T.float32(4)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(c: T.handle):
        b = T.int64()
        m = T.int64()
        C = T.match_buffer(c, (b, m))
        if T.int64(4) <= b:
            for i in T.parallel((b + T.int64(3)) // T.int64(4) * m):
                C[0, 0] = T.float32(1.0)
                C[0, 0] = T.float32(2.0)
                C[0, 0] = T.float32(3.0)
                if i // m < (b + T.int64(3)) // T.int64(4) * m:
                    C[0, 0] = T.float32(5.0)
                if i // m + T.int64(1) <= i:
                    C[0, 0] = T.float32(6.0)
                C[0, 0] = T.float32(4.0)
