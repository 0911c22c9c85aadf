# SPDX-License-Identifier: Apache-2.0
# A result on a virtual device gets a program of its own with that device's target.
@I.ir_module
class Before:
    I.module_global_infos({"vdevice": [I.vdevice({"kind": "llvm"}, 0, "global")]})
    @R.function
    def main(x: R.Tensor((2,), dtype="float32", vdevice="llvm:0:global")) -> R.Tensor((2,), dtype="float32", vdevice="llvm:0:global"):
        gv: R.Tensor((2,), dtype="float32", vdevice="llvm:0:global") = R.exp(x)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})

    @T.prim_func(private=True, s_tir=True)
    def tir_exp_llvm(A: T.Buffer((T.int64(2),), "float32"), compute: T.Buffer((T.int64(2),), "float32")):
        T.func_attr({"target": T.target("llvm"), "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(2)):
            with T.sblock("compute"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(compute[v_ax0])
                compute[v_ax0] = T.exp(A[v_ax0])

    @R.function
    def main(x: R.Tensor((2,), dtype="float32", vdevice="llvm:0:global")) -> R.Tensor((2,), dtype="float32", vdevice="llvm:0:global"):
        cls = Expected
        gv = R.call_tir(cls.tir_exp_llvm, (x,), out_ty=R.Tensor((2,), dtype="float32", vdevice="llvm:0:global"))
        return gv
