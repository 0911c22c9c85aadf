# SPDX-License-Identifier: Apache-2.0
# What match_casts tell of symbolic variables takes their place; casts that add nothing go, others stay.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4, 8), "float32"), y: R.Tensor(ndim=2, dtype="float32")):
        m = T.int64()
        n = T.int64()
        k = T.int64()
        a = R.match_cast(x, R.Tensor((m, n), "float32"))
        b: R.Tensor((m * n,), "float32") = R.reshape(a, R.shape([m * n]))
        same = R.match_cast(a, R.Tensor((m, n), "float32"))
        c = R.match_cast(y, R.Tensor((m, k), "float32"))
        d: R.Tensor((n + k,), "float32") = R.zeros(R.shape([n + k]), dtype="float32")
        return (b, same, c, d)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32"), y: R.Tensor(dtype="float32", ndim=2)) -> R.Tuple(R.Tensor((32,), dtype="float32"), R.Tensor((4, 8), dtype="float32"), R.Tensor(dtype="float32", ndim=2), R.Tensor(dtype="float32", ndim=1)):
        b: R.Tensor((32,), dtype="float32") = R.reshape(x, R.shape([32]))
        k = T.int64()
        c = R.match_cast(y, R.Tensor((4, k), dtype="float32"))
        d: R.Tensor((k + 8,), dtype="float32") = R.zeros(R.shape([k + 8]), dtype="float32")
        return (b, x, c, d)
