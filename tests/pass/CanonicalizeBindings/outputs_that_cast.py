# SPDX-License-Identifier: Apache-2.0
# An output that casts a value of its block keeps the value's variable: a cast takes leaves only.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=1), y: R.Tensor(dtype="float32", ndim=1)):
        with R.dataflow():
            one = R.exp(x)
            a = R.match_cast(one, R.Tensor((2,), "float32"))
            two = R.exp(y)
            b = R.match_cast(two, R.Tensor((2,), "float32"))
            c = R.match_cast(two, R.Tensor((2,), "float32"))
            R.output(a, b, c)
        return (a, b, c)
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=1), y: R.Tensor(dtype="float32", ndim=1)) -> R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")):
        with R.dataflow():
            one: R.Tensor(dtype="float32", ndim=1) = R.exp(x)
            a = R.match_cast(one, R.Tensor((2,), dtype="float32"))
            two: R.Tensor(dtype="float32", ndim=1) = R.exp(y)
            b = R.match_cast(two, R.Tensor((2,), dtype="float32"))
            c = R.match_cast(two, R.Tensor((2,), dtype="float32"))
            R.output(a, b, c)
        return (a, b, c)
