# SPDX-License-Identifier: Apache-2.0
# A module without dataflow blocks stays as it is, tensor programs too.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def copy(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("C"):
                vi = T.axis.remap("S", [i])
                C[vi] = A[vi]

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")):
        a = R.call_tir(Before.copy, (x,), out_ty=R.Tensor((4,), dtype="float32"))
        b = R.exp(a)
        return b
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def copy(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        # with T.sblock("root"):
        for i in range(4):
            with T.sblock("C"):
                vi = T.axis.remap("S", [i])
                T.reads(A[vi])
                T.writes(C[vi])
                C[vi] = A[vi]

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        a = R.call_tir(cls.copy, (x,), out_ty=R.Tensor((4,), dtype="float32"))
        b: R.Tensor((4,), dtype="float32") = R.exp(a)
        return b
