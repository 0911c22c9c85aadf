# SPDX-License-Identifier: Apache-2.0
# A match whose surroundings would have to run in its middle is left alone.
# passes: FuseOpsByPattern{patterns=["a.f := add(r:nn.relu(x), y)"]}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            lv = R.nn.relu(x)
            lv1 = R.exp(lv)
            gv = R.add(lv, lv1)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((4,), dtype="float32") = R.nn.relu(x)
            lv1: R.Tensor((4,), dtype="float32") = R.exp(lv)
            gv: R.Tensor((4,), dtype="float32") = R.add(lv, lv1)
            R.output(gv)
        return gv
