# SPDX-License-Identifier: Apache-2.0
# A call stays that takes a tuple with a tensor of unknown shape, though its result has a shape.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32"), i: R.Tensor(ndim=1, dtype="int32")):
        gv = R.index_put(x, (i,), x)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), i: R.Tensor(dtype="int32", ndim=1)) -> R.Tensor((4,), dtype="float32"):
        gv: R.Tensor((4,), dtype="float32") = R.index_put(x, (i,), x, accumulate=False)
        return gv
