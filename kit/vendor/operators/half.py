# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# Sixteen bits in memory.
from tvm.script import ir as I, relax as R


@I.ir_module
class Module:
    @R.function
    def add(x: R.Tensor((3, 9), "float16"), y: R.Tensor((3, 9), "float16")):
        with R.dataflow():
            gv = R.add(x, y)
            R.output(gv)
        return gv

    @R.function
    def to_half(x: R.Tensor((13,), "float32")):
        with R.dataflow():
            gv = R.astype(x, dtype="float16")
            R.output(gv)
        return gv

    @R.function
    def from_half(x: R.Tensor((13,), "float16")):
        with R.dataflow():
            gv = R.astype(x, dtype="float32")
            R.output(gv)
        return gv
