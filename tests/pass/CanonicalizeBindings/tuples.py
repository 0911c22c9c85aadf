# SPDX-License-Identifier: Apache-2.0
# Fields of known tuples and whole tuples put together again are what they were made of.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32"), t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((2,), "float32"))):
        a = R.exp(x)
        pair = (a, x)
        b = pair[0]
        c = pair[1]
        t0 = t[0]
        t1 = t[1]
        again = (t0, t1)
        swapped = (t1, t0)
        d = R.add(b, c)
        return (d, again, swapped)
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), t: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((2,), dtype="float32"))) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((2,), dtype="float32")), R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((4,), dtype="float32"))):
        a: R.Tensor((4,), dtype="float32") = R.exp(x)
        pair: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")) = (a, x)
        t0: R.Tensor((4,), dtype="float32") = t[0]
        t1: R.Tensor((2,), dtype="float32") = t[1]
        swapped: R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((4,), dtype="float32")) = (t1, t0)
        d: R.Tensor((4,), dtype="float32") = R.add(a, x)
        return (d, t, swapped)
