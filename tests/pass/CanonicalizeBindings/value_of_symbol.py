# SPDX-License-Identifier: Apache-2.0
# A cast that defines a variable whose value is used at run time stays; shapes take the known value all the same.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        n = T.int64()
        a = R.match_cast(x, R.Tensor((n,), "float32"))
        b: R.Tensor((n,), "float32") = R.exp(a)
        c = R.call_pure_packed("scale", b, R.prim_value(n), ty_args=R.Tensor((n,), "float32"))
        return c
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        n = T.int64()
        a = R.match_cast(x, R.Tensor((n,), dtype="float32"))
        b: R.Tensor((4,), dtype="float32") = R.exp(a)
        c: R.Tensor((4,), dtype="float32") = R.call_pure_packed("scale", b, n, ty_args=(R.Tensor((4,), dtype="float32"),))
        return c
