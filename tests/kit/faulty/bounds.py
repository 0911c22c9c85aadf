# SPDX-License-Identifier: Apache-2.0
# Reads behind the end of a parameter.
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((256,), "float32"), I: T.Buffer((256,), "int32"), B: T.Buffer((256,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        for b in T.thread_binding(4, thread="blockIdx.x"):
            for t in T.thread_binding(64, thread="threadIdx.x"):
                with T.sblock("B"):
                    vi = T.axis.spatial(256, b * 64 + t)
                    B[vi] = A[I[vi] + 100000]

    @R.function
    def main(x: R.Tensor((256,), "float32"), i: R.Tensor((256,), "int32")):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.f, (x, i), out_ty=R.Tensor((256,), "float32"))
            R.output(y)
        return y
