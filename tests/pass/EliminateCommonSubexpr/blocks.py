# SPDX-License-Identifier: Apache-2.0
# A dataflow variable serves its own block only; an output serves the blocks behind it. What is replaced
# inside a block keeps its name outside.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.log(x)
            c = R.log(x)
            R.output(b, c)
        d = R.add(b, c)
        e = R.exp(x)
        f = R.log(x)
        g = R.add(e, f)
        return (d, g)
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")):
        with R.dataflow():
            a: R.Tensor((4,), dtype="float32") = R.exp(x)
            b: R.Tensor((4,), dtype="float32") = R.log(x)
            c: R.Tensor((4,), dtype="float32") = b
            R.output(b, c)
        d: R.Tensor((4,), dtype="float32") = R.add(b, c)
        e: R.Tensor((4,), dtype="float32") = R.exp(x)
        f: R.Tensor((4,), dtype="float32") = b
        g: R.Tensor((4,), dtype="float32") = R.add(e, b)
        return (d, g)
