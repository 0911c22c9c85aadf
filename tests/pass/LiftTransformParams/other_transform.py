# SPDX-License-Identifier: Apache-2.0
# passes: LiftTransformParams
# error: gives R.Tuple(R.Tensor((4, 3), dtype="float32")), but the weights are
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), w: R.Tensor((3, 4), dtype="float32"), b: R.Tensor((3,), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((4, 3), dtype="float32") = R.permute_dims(w)
            lv1: R.Tensor((2, 3), dtype="float32") = R.matmul(x, lv)
            gv: R.Tensor((2, 3), dtype="float32") = R.add(lv1, b)
            R.output(gv)
        return gv

    @R.function
    def main_transform_params(params: R.Tuple(R.Tensor((4, 3), dtype="float32"))) -> R.Tuple(R.Tensor((4, 3), dtype="float32")):
        R.func_attr({"num_input": 0})
        return params
