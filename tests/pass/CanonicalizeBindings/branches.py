# SPDX-License-Identifier: Apache-2.0
# What a branch learns stays there; the other one keeps its symbols, and the value has one type again.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor((16,), "float32"), cond: R.Tensor((), "bool")):
        n = T.int64()
        if cond:
            a = R.match_cast(y, R.Tensor((n,), "float32"))
            b = a
            out: R.Tensor((n,), "float32") = R.exp(b)
        else:
            c = x
            out: R.Tensor((n,), "float32") = R.log(c)
        return out
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(("n",), dtype="float32"), y: R.Tensor((16,), dtype="float32"), cond: R.Tensor((), dtype="bool")) -> R.Tensor(("n",), dtype="float32"):
        n = T.int64()
        if cond:
            out_then: R.Tensor((16,), dtype="float32") = R.exp(y)
            then_branch_with_dyn = R.match_cast(out_then, R.Tensor((n,), dtype="float32"))
            out: R.Tensor((n,), dtype="float32") = then_branch_with_dyn
        else:
            out_else: R.Tensor((n,), dtype="float32") = R.log(x)
            out: R.Tensor((n,), dtype="float32") = out_else
        return out
