# SPDX-License-Identifier: Apache-2.0
# passes: LiftTransformParams{shared_transform=true}
# error: with 2 weights, and 'second', with 1, cannot be made
@I.ir_module
class Before:
    @R.function
    def first(x: R.Tensor((2, 4), dtype="float32"), w: R.Tensor((3, 4), dtype="float32"), b: R.Tensor((3,), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((4, 3), dtype="float32") = R.permute_dims(w)
            lv1: R.Tensor((2, 3), dtype="float32") = R.matmul(x, lv)
            gv: R.Tensor((2, 3), dtype="float32") = R.add(lv1, b)
            R.output(gv)
        return gv

    @R.function
    def second(x: R.Tensor((2, 4), dtype="float32"), w: R.Tensor((3, 4), dtype="float32"), b: R.Tensor((3,), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        R.func_attr({"num_input": 2})
        with R.dataflow():
            lv: R.Tensor((4, 3), dtype="float32") = R.permute_dims(w)
            lv1: R.Tensor((2, 3), dtype="float32") = R.matmul(x, lv)
            gv: R.Tensor((2, 3), dtype="float32") = R.multiply(lv1, b)
            R.output(gv)
        return gv
