# SPDX-License-Identifier: Apache-2.0 OR MIT-0
from tvm.script import ir as I, relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            lv = R.maximum(x, x)
            lv1 = R.minimum(lv, y)
            gv = R.add(lv, lv1)
            R.output(gv)
        return gv
