# SPDX-License-Identifier: Apache-2.0
# A match_cast in a block, and the symbolic variable that it defines.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=1)):
        n = T.int64()
        with R.dataflow():
            a = R.match_cast(x, R.Tensor((n,), dtype="float32"))
            b: R.Tensor((n,), dtype="float32") = R.exp(a)
            c: R.Tensor((n * 2,), dtype="float32") = R.concat((b, b), axis=0)
            R.output(c)
        return c
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=1)) -> R.Tensor(dtype="float32", ndim=1):
        n = T.int64()
        a = R.match_cast(x, R.Tensor((n,), dtype="float32"))
        b: R.Tensor((n,), dtype="float32") = R.exp(a)
        c: R.Tensor((n * 2,), dtype="float32") = R.concat((b, b), axis=0)
        return c
