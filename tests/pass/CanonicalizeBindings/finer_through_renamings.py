# SPDX-License-Identifier: Apache-2.0
# What a cast tells reaches values that are used under other names, within the block and behind it.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=2)):
        with R.dataflow():
            t = R.match_cast(x, R.Tensor((2, 3), "float32"))
            v: R.Tensor(dtype="float32", ndim=2) = t
            w: R.Tensor(dtype="float32", ndim=2) = R.exp(v)
            alias: R.Tensor(dtype="float32", ndim=2) = w
            z: R.Tensor(dtype="float32", ndim=2) = R.tanh(alias)
            u: R.Tensor(dtype="float32", ndim=2) = R.cos(v)
            out: R.Tensor(dtype="float32", ndim=2) = u
            y: R.Tensor(dtype="float32", ndim=2) = R.negative(u)
            R.output(z, out, y)
        a: R.Tensor(dtype="float32", ndim=2) = R.add(out, z)
        return (a, y)
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=2)) -> R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((2, 3), dtype="float32")):
        with R.dataflow():
            t = R.match_cast(x, R.Tensor((2, 3), dtype="float32"))
            w: R.Tensor((2, 3), dtype="float32") = R.exp(t)
            z: R.Tensor((2, 3), dtype="float32") = R.tanh(w)
            out: R.Tensor((2, 3), dtype="float32") = R.cos(t)
            y: R.Tensor((2, 3), dtype="float32") = R.negative(out)
            R.output(z, out, y)
        a: R.Tensor((2, 3), dtype="float32") = R.add(out, z)
        return (a, y)
