# SPDX-License-Identifier: Apache-2.0
# uses=1 refuses an inner value that others use.
# passes: FuseOpsByPattern{patterns=["a.f := add(nn.relu(x){uses=1}, y)"]}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            lv = R.nn.relu(x)
            lv1 = R.add(lv, y)
            gv = R.multiply(lv, lv1)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((4,), dtype="float32") = R.nn.relu(x)
            lv1: R.Tensor((4,), dtype="float32") = R.add(lv, y)
            gv: R.Tensor((4,), dtype="float32") = R.multiply(lv, lv1)
            R.output(gv)
        return gv
