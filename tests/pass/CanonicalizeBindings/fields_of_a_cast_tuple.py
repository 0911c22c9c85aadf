# SPDX-License-Identifier: Apache-2.0
# Fields of a tuple that was cast have the extents that the cast tells: they are not what went into the tuple before.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=1), y: R.Tensor((4,), "float32")) -> R.Tensor(dtype="float32", ndim=1):
        n = T.int64()
        t = (x, y)
        u = R.match_cast(t, R.Tuple(R.Tensor((n,), "float32"), R.Tensor((4,), "float32")))
        a = u[0]
        b = a
        c = R.add(b, b)
        return c
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=1), y: R.Tensor((4,), dtype="float32")) -> R.Tensor(dtype="float32", ndim=1):
        t: R.Tuple(R.Tensor(dtype="float32", ndim=1), R.Tensor((4,), dtype="float32")) = (x, y)
        n = T.int64()
        u = R.match_cast(t, R.Tuple(R.Tensor((n,), dtype="float32"), R.Tensor((4,), dtype="float32")))
        a: R.Tensor((n,), dtype="float32") = u[0]
        c: R.Tensor((n,), dtype="float32") = R.add(a, a)
        return c
