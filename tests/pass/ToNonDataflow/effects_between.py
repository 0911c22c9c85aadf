# SPDX-License-Identifier: Apache-2.0
# What has effects stays between what was in blocks.
@I.ir_module
class Before:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), dtype="float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.add(a, x)
            R.output(b)
        _ = R.call_packed("show", b, ty_args=(R.Tuple,))
        with R.dataflow():
            c = R.negative(b)
            d = R.exp(c)
            R.output(d)
        return d
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        a: R.Tensor((4,), dtype="float32") = R.exp(x)
        b: R.Tensor((4,), dtype="float32") = R.add(a, x)
        _: R.Tuple = R.call_packed("show", b, ty_args=(R.Tuple,))
        c: R.Tensor((4,), dtype="float32") = R.negative(b)
        d: R.Tensor((4,), dtype="float32") = R.exp(c)
        return d
