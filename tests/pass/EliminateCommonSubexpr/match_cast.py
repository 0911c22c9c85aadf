# SPDX-License-Identifier: Apache-2.0
# Casts to types with different symbols are different; a cast is not the plain value.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(ndim=2, dtype="float32")):
        m, n, p, q = T.int64(), T.int64(), T.int64(), T.int64()
        a = R.match_cast(x, R.Tensor((m, n), "float32"))
        b = R.match_cast(x, R.Tensor((p, q), "float32"))
        c = R.match_cast(x, R.Tensor((m, n), "float32"))
        d = x
        return (a, b, c, d)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=2)) -> R.Tuple(R.Tensor(dtype="float32", ndim=2), R.Tensor(dtype="float32", ndim=2), R.Tensor(dtype="float32", ndim=2), R.Tensor(dtype="float32", ndim=2)):
        m = T.int64()
        n = T.int64()
        a = R.match_cast(x, R.Tensor((m, n), dtype="float32"))
        p = T.int64()
        q = T.int64()
        b = R.match_cast(x, R.Tensor((p, q), dtype="float32"))
        c: R.Tensor((m, n), dtype="float32") = a
        d: R.Tensor(dtype="float32", ndim=2) = x
        return (a, b, a, d)
