# SPDX-License-Identifier: Apache-2.0
# Loops that have no wide form stay serial: a step of two, a sum over elements that the loop writes, a recurrence; so does a loop
# of fewer turns than a vector has elements.
@I.ir_module
class Before:
    @T.prim_func
    def main(A: T.Buffer((T.int64(64),), "float32"), B: T.Buffer((T.int64(64),), "float32")):
        for k in T.serial(T.int64(32), annotations={"tenon.wide": 8}):
            B[k * T.int64(2)] = A[k]
        for k in T.serial(T.int64(63), annotations={"tenon.wide": 8}):
            B[k + T.int64(1)] = B[k] + A[k]
        for k in T.serial(T.int64(32), annotations={"tenon.wide": 8}):
            B[T.int64(0)] = B[T.int64(0)] - A[k]
        for k in T.serial(T.int64(7), annotations={"tenon.wide": 8}):
            B[k] = A[k]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func
    def main(A: T.Buffer((T.int64(64),), "float32"), B: T.Buffer((T.int64(64),), "float32")):
        for k in range(T.int64(32)):
            B[k * T.int64(2)] = A[k]
        for k_1 in range(T.int64(63)):
            B[k_1 + T.int64(1)] = B[k_1] + A[k_1]
        for k_2 in range(T.int64(32)):
            B[T.int64(0)] = B[T.int64(0)] - A[k_2]
        for k_3 in range(T.int64(7)):
            B[k_3] = A[k_3]
