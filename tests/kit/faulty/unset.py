# SPDX-License-Identifier: Apache-2.0
# The last element of each row in shared memory is never written.
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        S = T.sblock_alloc_buffer((4, 64), scope="shared")
        for b in T.thread_binding(4, thread="blockIdx.x"):
            for t in T.thread_binding(64, thread="threadIdx.x"):
                with T.sblock("S"):
                    vi, vt = T.axis.remap("SS", [b, t])
                    T.where(t < 63)
                    S[vi, vt] = A[vi * 64 + vt]
            for t in T.thread_binding(64, thread="threadIdx.x"):
                with T.sblock("B"):
                    vi, vt = T.axis.remap("SS", [b, t])
                    B[vi * 64 + vt] = S[vi, 63 - vt]

    @R.function
    def main(x: R.Tensor((256,), "float32")):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.f, (x,), out_ty=R.Tensor((256,), "float32"))
            R.output(y)
        return y
