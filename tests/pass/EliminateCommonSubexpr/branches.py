# SPDX-License-Identifier: Apache-2.0
# Branches know what stands before them, not each other's values.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32"), cond: R.Tensor((), "bool")):
        a = R.exp(x)
        if cond:
            b = R.exp(x)
            c = R.log(b)
            d = R.log(a)
            out = R.add(c, d)
        else:
            e = R.log(a)
            out = R.exp(e)
        f = R.log(a)
        return (out, f)
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), cond: R.Tensor((), dtype="bool")) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")):
        a: R.Tensor((4,), dtype="float32") = R.exp(x)
        if cond:
            b: R.Tensor((4,), dtype="float32") = a
            c: R.Tensor((4,), dtype="float32") = R.log(a)
            d: R.Tensor((4,), dtype="float32") = c
            out_then: R.Tensor((4,), dtype="float32") = R.add(c, c)
            out: R.Tensor((4,), dtype="float32") = out_then
        else:
            e: R.Tensor((4,), dtype="float32") = R.log(a)
            out_else: R.Tensor((4,), dtype="float32") = R.exp(e)
            out: R.Tensor((4,), dtype="float32") = out_else
        f: R.Tensor((4,), dtype="float32") = R.log(a)
        return (out, f)
