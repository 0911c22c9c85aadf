# SPDX-License-Identifier: Apache-2.0
# A tensor of unknown extents is left alone.
# target: cuda
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=2)):
        with R.dataflow():
            gv = R.sort(x, axis=1)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=2)) -> R.Tensor(dtype="float32", ndim=2):
        with R.dataflow():
            gv: R.Tensor(dtype="float32", ndim=2) = R.sort(x, axis=1, descending=False)
            R.output(gv)
        return gv
