# SPDX-License-Identifier: Apache-2.0
# A dimension of extent 1 that is read at 0 does not count: broadcast; and beside an elementwise read: elementwise.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def broadcast(A: T.Buffer((1, 8, 1), "float32"), C: T.Buffer((4, 8, 2), "float32")):
        for i, j, k in T.grid(4, 8, 2):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                C[vi, vj, vk] = A[0, vj, 0]

    @T.prim_func(s_tir=True)
    def added(A: T.Buffer((4, 8), "float32"), D: T.Buffer((1, 8), "float32"), C: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + D[0, vj]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def added(A: T.Buffer((4, 8), "float32"), D: T.Buffer((1, 8), "float32"), C: T.Buffer((4, 8), "float32")):
        T.func_attr({"op_pattern": 0})
        # with T.sblock("root"):
        for i, j in T.grid(4, 8):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj], D[0, vj])
                T.writes(C[vi, vj])
                C[vi, vj] = A[vi, vj] + D[0, vj]

    @T.prim_func(s_tir=True)
    def broadcast(A: T.Buffer((1, 8, 1), "float32"), C: T.Buffer((4, 8, 2), "float32")):
        T.func_attr({"op_pattern": 1})
        # with T.sblock("root"):
        for i, j, k in T.grid(4, 8, 2):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                T.reads(A[0, vj, 0])
                T.writes(C[vi, vj, vk])
                C[vi, vj, vk] = A[0, vj, 0]
