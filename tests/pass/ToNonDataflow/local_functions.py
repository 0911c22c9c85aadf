# SPDX-License-Identifier: Apache-2.0
# A local function has blocks of its own.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")):
        @R.function
        def inner(y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            with R.dataflow():
                a = R.exp(y)
                b = R.add(a, y)
                R.output(b)
            return b
        
        with R.dataflow():
            c = R.exp(x)
            d = R.add(c, c)
            R.output(d)
        e = inner(d)
        return e
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        @R.function
        def inner(y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            a: R.Tensor((4,), dtype="float32") = R.exp(y)
            b: R.Tensor((4,), dtype="float32") = R.add(a, y)
            return b
        c: R.Tensor((4,), dtype="float32") = R.exp(x)
        d: R.Tensor((4,), dtype="float32") = R.add(c, c)
        e: R.Tensor((4,), dtype="float32") = inner(d)
        return e
