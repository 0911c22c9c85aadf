# SPDX-License-Identifier: Apache-2.0
# Tuples and what is taken from them.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")):
        with R.dataflow():
            a = R.split(x, 2, axis=0)
            b = a[0]
            c = a[1]
            t = (b, (c, b))
            u = t[1]
            R.output(u)
        return u
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")):
        a: R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")) = R.split(x, indices_or_sections=2, axis=0)
        b: R.Tensor((2,), dtype="float32") = a[0]
        c: R.Tensor((2,), dtype="float32") = a[1]
        t: R.Tuple(R.Tensor((2,), dtype="float32"), R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32"))) = (b, (c, b))
        u: R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")) = t[1]
        return u
