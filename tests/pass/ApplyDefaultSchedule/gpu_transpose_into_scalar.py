# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[Transpose,Fallback]}
# target: {"kind": "opencl"}
# A scalar has no last index along which a transpose could write.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def f(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (T.int64(1), T.int64(1)))
        B = T.match_buffer(b, ())
        C = T.sblock_alloc_buffer((T.int64(1), T.int64(1)))
        for i, j in T.grid(T.int64(1), T.int64(1)):
            with T.sblock("log"):
                v0, v1 = T.axis.remap("SS", [i, j])
                C[v0, v1] = T.log(A[v0, v1])
        with T.sblock("squeeze"):
            B[()] = C[T.int64(0), T.int64(0)]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((T.int64(1), T.int64(1)), "float32"), B: T.Buffer((), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for u in T.thread_binding(T.int64(1), thread="blockIdx.x"):
            for u_1 in T.thread_binding(T.int64(1), thread="threadIdx.x"):
                with T.sblock("squeeze"):
                    T.reads(A[T.int64(0), T.int64(0)])
                    T.writes(B[()])
                    B[()] = T.log(A[T.int64(0), T.int64(0)])
