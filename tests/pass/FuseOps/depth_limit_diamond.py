# SPDX-License-Identifier: Apache-2.0
# config: relax.FuseOps.max_depth=3
# The limit counts what lies between a value and the value that joins its consumers, too: four nodes would be one
# too many, so the last three are fused.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def exp(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        T.func_attr({"op_pattern": 0})
        for i in range(4):
            with T.sblock("C"):
                vi = T.axis.remap("S", [i])
                C[vi] = T.exp(A[vi])

    @T.prim_func(private=True, s_tir=True)
    def add(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        T.func_attr({"op_pattern": 0})
        for i in range(4):
            with T.sblock("C"):
                vi = T.axis.remap("S", [i])
                C[vi] = A[vi] + B[vi]

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")):
        cls = Before
        with R.dataflow():
            a = R.call_tir(cls.exp, (x,), out_ty=R.Tensor((4,), dtype="float32"))
            b = R.call_tir(cls.exp, (a,), out_ty=R.Tensor((4,), dtype="float32"))
            c = R.call_tir(cls.exp, (a,), out_ty=R.Tensor((4,), dtype="float32"))
            d = R.call_tir(cls.add, (b, c), out_ty=R.Tensor((4,), dtype="float32"))
            R.output(d)
        return d
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def add(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        T.func_attr({"op_pattern": 0})
        # with T.sblock("root"):
        for i in range(4):
            with T.sblock("C"):
                vi = T.axis.remap("S", [i])
                T.reads(A[vi], B[vi])
                T.writes(C[vi])
                C[vi] = A[vi] + B[vi]

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
    def fused_exp_exp_add(a: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Primitive": True})
        cls = Expected
        with R.dataflow():
            b = R.call_tir(cls.exp, (a,), out_ty=R.Tensor((4,), dtype="float32"))
            c = R.call_tir(cls.exp, (a,), out_ty=R.Tensor((4,), dtype="float32"))
            d = R.call_tir(cls.add, (b, c), out_ty=R.Tensor((4,), dtype="float32"))
            R.output(d)
        return d

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            a = R.call_tir(cls.exp, (x,), out_ty=R.Tensor((4,), dtype="float32"))
            d: R.Tensor((4,), dtype="float32") = cls.fused_exp_exp_add(a)
            R.output(d)
        return d
