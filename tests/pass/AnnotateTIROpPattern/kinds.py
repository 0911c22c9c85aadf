# SPDX-License-Identifier: Apache-2.0
# Elementwise, broadcast, injective, reduction, product; a kind that is there already stays.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def bias(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.sblock("add"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + B[vj]

    @T.prim_func(s_tir=True)
    def broadcast(A: T.Buffer((8,), "float32"), C: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.sblock("spread"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vj]

    @T.prim_func(s_tir=True)
    def given(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        T.func_attr({"op_pattern": 8})
        for i in range(8):
            with T.sblock("copy"):
                vi = T.axis.remap("S", [i])
                C[vi] = A[vi]

    @T.prim_func(s_tir=True)
    def matmul(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 5), "float32"), C: T.Buffer((4, 5), "float32")):
        for i, j, k in T.grid(4, 5, 8):
            with T.sblock("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @T.prim_func(s_tir=True)
    def sum(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 8):
            with T.sblock("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]

    @T.prim_func(s_tir=True)
    def transpose(A: T.Buffer((4, 8), "float32"), C: T.Buffer((8, 4), "float32")):
        for i, j in T.grid(8, 4):
            with T.sblock("transpose"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vj, vi]


# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def bias(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((4, 8), "float32")):
        T.func_attr({"op_pattern": 0})
        # with T.sblock("root"):
        for i, j in T.grid(4, 8):
            with T.sblock("add"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj], B[vj])
                T.writes(C[vi, vj])
                C[vi, vj] = A[vi, vj] + B[vj]

    @T.prim_func(s_tir=True)
    def broadcast(A: T.Buffer((8,), "float32"), C: T.Buffer((4, 8), "float32")):
        T.func_attr({"op_pattern": 1})
        # with T.sblock("root"):
        for i, j in T.grid(4, 8):
            with T.sblock("spread"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vj])
                T.writes(C[vi, vj])
                C[vi, vj] = A[vj]

    @T.prim_func(s_tir=True)
    def given(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        T.func_attr({"op_pattern": 8})
        # with T.sblock("root"):
        for i in range(8):
            with T.sblock("copy"):
                vi = T.axis.remap("S", [i])
                T.reads(A[vi])
                T.writes(C[vi])
                C[vi] = A[vi]

    @T.prim_func(s_tir=True)
    def matmul(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 5), "float32"), C: T.Buffer((4, 5), "float32")):
        T.func_attr({"op_pattern": 4})
        # with T.sblock("root"):
        for i, j, k in T.grid(4, 5, 8):
            with T.sblock("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(A[vi, vk], B[vk, vj])
                T.writes(C[vi, vj])
                with T.init():
                    C[vi, vj] = T.float32(0.0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @T.prim_func(s_tir=True)
    def sum(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        T.func_attr({"op_pattern": 3})
        # with T.sblock("root"):
        for i, k in T.grid(4, 8):
            with T.sblock("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0.0)
                C[vi] = C[vi] + A[vi, vk]

    @T.prim_func(s_tir=True)
    def transpose(A: T.Buffer((4, 8), "float32"), C: T.Buffer((8, 4), "float32")):
        T.func_attr({"op_pattern": 2})
        # with T.sblock("root"):
        for i, j in T.grid(8, 4):
            with T.sblock("transpose"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vj, vi])
                T.writes(C[vi, vj])
                C[vi, vj] = A[vj, vi]
