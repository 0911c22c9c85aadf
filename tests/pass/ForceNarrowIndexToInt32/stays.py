# SPDX-License-Identifier: Apache-2.0
# Programs with data of int64, with a scalar of int64, with a constant that does not fit: they stay.
@I.ir_module
class Before:
    @T.prim_func
    def data(A: T.Buffer((T.int64(16),), "int64"), B: T.Buffer((T.int64(16),), "int64")):
        for i in T.serial(T.int64(16)):
            with T.sblock("b"):
                vi = T.axis.spatial(T.int64(16), i)
                B[vi] = A[vi]

    @T.prim_func
    def scalar(A: T.Buffer((T.int64(16),), "float32"), n: T.int64):
        for i in T.serial(T.int64(16)):
            with T.sblock("b"):
                vi = T.axis.spatial(T.int64(16), i)
                A[vi] = T.Cast("float32", n)

    @T.prim_func
    def large(A: T.Buffer((T.int64(16),), "float32")):
        for i in T.serial(T.int64(16)):
            with T.sblock("b"):
                vi = T.axis.spatial(T.int64(16), i)
                A[vi] = T.Cast("float32", vi * T.int64(4294967296))
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def data(A: T.Buffer((T.int64(16),), "int64"), B: T.Buffer((T.int64(16),), "int64")):
        # with T.sblock("root"):
        for i in range(T.int64(16)):
            with T.sblock("b"):
                vi = T.axis.remap("S", [i])
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]

    @T.prim_func(s_tir=True)
    def large(A: T.Buffer((T.int64(16),), "float32")):
        # with T.sblock("root"):
        for i in range(T.int64(16)):
            with T.sblock("b"):
                vi = T.axis.remap("S", [i])
                T.reads()
                T.writes(A[vi])
                A[vi] = T.Cast("float32", vi * T.int64(4294967296))

    @T.prim_func(s_tir=True)
    def scalar(A: T.Buffer((T.int64(16),), "float32"), n: T.int64):
        # with T.sblock("root"):
        for i in range(T.int64(16)):
            with T.sblock("b"):
                vi = T.axis.remap("S", [i])
                T.reads()
                T.writes(A[vi])
                A[vi] = T.Cast("float32", n)
