# SPDX-License-Identifier: Apache-2.0
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 4), dtype="float32"), b: R.Tensor((4,), dtype="float32")) -> R.Tensor((4, 3), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((3, 4), dtype="float32") = R.exp(x)
            lv1: R.Tensor((3, 4), dtype="float32") = R.add(lv, b)
            lv2: R.Tensor((3, 4), dtype="float32") = R.nn.softmax(lv1, axis=1)
            gv: R.Tensor((4, 3), dtype="float32") = R.permute_dims(lv2, axes=[1, 0])
            R.output(gv)
        return gv
