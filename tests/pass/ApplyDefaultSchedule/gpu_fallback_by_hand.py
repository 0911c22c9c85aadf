# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[Fallback]}
# target: opencl
# What is not in block form is run by one thread; what has threads stays.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def serial(A: T.Buffer((8,), "int32"), n: T.int32):
        for i in range(n):
            A[i] = A[i] + 1

    @T.prim_func(s_tir=True)
    def threads(A: T.Buffer((8,), "int32")):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            A[i] = A[i] + 1
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def serial(A: T.Buffer((8,), "int32"), n: T.int32):
        T.func_attr({"tirx.is_scheduled": True})
        for bx in T.thread_binding(1, thread="blockIdx.x"):
            for tx in T.thread_binding(1, thread="threadIdx.x"):
                for i in range(n):
                    A[i] = A[i] + 1

    @T.prim_func(s_tir=True)
    def threads(A: T.Buffer((8,), "int32")):
        T.func_attr({"tirx.is_scheduled": True})
        for i in T.thread_binding(8, thread="threadIdx.x"):
            A[i] = A[i] + 1
