# SPDX-License-Identifier: Apache-2.0
# Loops around one that may have no turns run only where it has some: also across a loop that always has some, and around a test
# of their own. A loop that other statements stand beside, or whose turns depend on the loop around it or on a division that may be one
# by zero, is left.
@I.ir_module
class Before:
    @T.prim_func
    def main(a: T.handle, C: T.Buffer((T.int64(1),), "float32")):
        n, m, k = T.int64(), T.int64(), T.int64()
        A = T.match_buffer(a, (n, m, k), "float32")
        for i in range(n):
            for j in range(m):
                for h in range(k):
                    C[0] = C[0] + A[i, j, h]
        for i in range(n):
            for j in range(T.int64(4)):
                for h in range(k):
                    C[0] = C[0] + T.float32(1)
        for i in range(n):
            if i < m:
                for h in range(k):
                    C[0] = C[0] + T.float32(2)
        for i in range(n):
            C[0] = T.float32(3)
            for h in range(k):
                C[0] = C[0] + T.float32(3)
        for i in range(n):
            for h in range(k - i):
                C[0] = C[0] + T.float32(4)
        for i in range(n):
            for h in range(k // n):
                C[0] = C[0] + T.float32(5)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(a: T.handle, C: T.Buffer((T.int64(1),), "float32")):
        n = T.int64()
        m = T.int64()
        k = T.int64()
        A = T.match_buffer(a, (n, m, k))
        if k > T.int64(0) and m > T.int64(0):
            for i, j, h in T.grid(n, m, k):
                C[0] = C[0] + A[i, j, h]
        if k > T.int64(0):
            for i_1, j_1, h_1 in T.grid(n, T.int64(4), k):
                C[0] = C[0] + T.float32(1.0)
        if k > T.int64(0):
            for i_2 in range(n):
                if i_2 < m:
                    for h_2 in range(k):
                        C[0] = C[0] + T.float32(2.0)
        for i_3 in range(n):
            C[0] = T.float32(3.0)
            for h_3 in range(k):
                C[0] = C[0] + T.float32(3.0)
        for i_4 in range(n):
            for h_4 in range(k - i_4):
                C[0] = C[0] + T.float32(4.0)
        for i_5, h_5 in T.grid(n, k // n):
            C[0] = C[0] + T.float32(5.0)
