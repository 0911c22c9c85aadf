# SPDX-License-Identifier: Apache-2.0 OR MIT-0
from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def sums(far: T.Buffer((96, 4), "float32"), B: T.Buffer((96,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        for b in T.thread_binding(3, thread="blockIdx.x"):
            for t in T.thread_binding(32, thread="threadIdx.x"):
                with T.sblock("sums"):
                    B[b * 32 + t] = T.float32(0)
                    for k in T.serial(4, annotations={"lanec.pipeline": 2}):
                        B[b * 32 + t] = B[b * 32 + t] + T.call_intrin("float32", "lanec.halve", far[b * 32 + t, k])
                    if T.warp_size_is(32):
                        B[b * 32 + t] = B[b * 32 + t] + T.float32(1)

    @T.prim_func(private=True, s_tir=True)
    def places(C: T.Buffer((96, 4), "float32"), D: T.Buffer((384,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        for bz in T.thread_binding(3, thread="blockIdx.z"):
            for by in T.thread_binding(4, thread="blockIdx.y"):
                for bx in T.thread_binding(2, thread="blockIdx.x"):
                    for tz in T.thread_binding(2, thread="threadIdx.z"):
                        for ty in T.thread_binding(4, thread="threadIdx.y"):
                            for tx in T.thread_binding(2, thread="threadIdx.x"):
                                with T.sblock("places"):
                                    i = T.axis.spatial(384, (((((bz * 4 + by) * 2 + bx) * 2 + tz) * 4 + ty) * 2 + tx))
                                    D[i] = C[i // 4, i % 4] + T.float32(1)

    @R.function
    def main(x: R.Tensor((96, 4), "float32")):
        cls = Module
        with R.dataflow():
            s = R.call_tir(cls.sums, (x,), out_sinfo=R.Tensor((96,), "float32"))
            y = R.exp(s)
            z = R.call_tir(cls.places, (x,), out_sinfo=R.Tensor((384,), "float32"))
            R.output(y, z)
        return (y, z)
