# SPDX-License-Identifier: Apache-2.0
# config: relax.FuseOps.max_depth=2
# No group grows beyond the depth that the configuration allows.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def exp(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        T.func_attr({"op_pattern": 0})
        for i in range(4):
            with T.sblock("C"):
                vi = T.axis.remap("S", [i])
                C[vi] = T.exp(A[vi])

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")):
        cls = Before
        with R.dataflow():
            a = R.call_tir(cls.exp, (x,), out_ty=R.Tensor((4,), dtype="float32"))
            b = R.call_tir(cls.exp, (a,), out_ty=R.Tensor((4,), dtype="float32"))
            c = R.call_tir(cls.exp, (b,), out_ty=R.Tensor((4,), dtype="float32"))
            d = R.call_tir(cls.exp, (c,), out_ty=R.Tensor((4,), dtype="float32"))
            R.output(d)
        return d
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def exp(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        T.func_attr({"op_pattern": 0})
        # with T.sblock("root"):
        for i in range(4):
            with T.sblock("C"):
                vi = T.axis.remap("S", [i])
                T.reads(A[vi])
                T.writes(C[vi])
                C[vi] = T.exp(A[vi])

    @R.function(private=True)
    def fused_exp_exp(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Primitive": True})
        cls = Expected
        with R.dataflow():
            a = R.call_tir(cls.exp, (x,), out_ty=R.Tensor((4,), dtype="float32"))
            b = R.call_tir(cls.exp, (a,), out_ty=R.Tensor((4,), dtype="float32"))
            R.output(b)
        return b

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            b: R.Tensor((4,), dtype="float32") = cls.fused_exp_exp(x)
            d: R.Tensor((4,), dtype="float32") = cls.fused_exp_exp(b)
            R.output(d)
        return d
