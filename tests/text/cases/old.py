# SPDX-License-Identifier: Apache-2.0
# Spellings of earlier releases.
from tvm.script import ir as I
from tvm.script import tir as T
from tvm.script import relax as R


@tvm.script.ir_module
class Module:
    @T.prim_func
    def add(a: T.handle, B: T.Buffer[(T.int64(16),), "float32"], C: T.Buffer((16))):
        T.func_attr({"tir.noalias": True, "global_symbol": "add"})
        n = T.var("int64")
        A = T.match_buffer(a, (n,), "float32")
        tmp = T.alloc_buffer((16,), dtype="float32")
        for i in T.serial(0, 16):
            with T.block("add"):
                vi = T.axis.S(16, i)
                T.reads(A[vi], B[vi])
                T.writes(tmp[vi])
                T.block_attr({"x": 1})
                tmp[vi] = A[vi] + B[vi]
        for i in range(16):
            with T.block("copy"):
                vi = T.axis.remap("S", [i])
                x: T.float32 = tmp[vi]
                C[vi] += x

    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Object) -> R.Object:
        n = T.var("int64")
        gv = R.call_tir(Module.add, (x,), out_sinfo=R.Tensor((16,), dtype="float32"))
        z = R.call_pure_packed("f", gv, sinfo_args=(R.Tensor((n,), "float32"),))
        return z

    @R.function(private=True)
    def sized(p: R.Prim(value="n"), x: R.Tensor(("n", "n * 2"), "float32")):
        n = T.var("int64")
        return x
