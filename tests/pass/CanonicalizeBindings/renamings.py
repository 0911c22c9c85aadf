# SPDX-License-Identifier: Apache-2.0
# Chains of renamings go; an output that renames takes over the value; what nobody outside uses becomes a
# dataflow variable.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        a = x
        b = a
        with R.dataflow():
            c = R.exp(b)
            d = c
            inner = R.log(d)
            out = inner
            R.output(inner, out)
        e = out
        return e
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            c: R.Tensor((4,), dtype="float32") = R.exp(x)
            out: R.Tensor((4,), dtype="float32") = R.log(c)
            R.output(out)
        return out
