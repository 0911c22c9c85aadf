# SPDX-License-Identifier: Apache-2.0
# What is computed of weights alone moves out; a weight that is still needed is handed through, before computed values.
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
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main_transform_params(params: R.Tuple(R.Tensor((3, 4), dtype="float32"), R.Tensor((3,), dtype="float32"))) -> R.Tuple(R.Tensor((3,), dtype="float32"), R.Tensor((4, 3), dtype="float32")):
        R.func_attr({"num_input": 0})
        with R.dataflow():
            lv: R.Tensor((3, 4), dtype="float32") = params[0]
            lv_1: R.Tensor((4, 3), dtype="float32") = R.permute_dims(lv, axes=None)
            lv_2: R.Tensor((3,), dtype="float32") = params[1]
            gv: R.Tuple(R.Tensor((3,), dtype="float32"), R.Tensor((4, 3), dtype="float32")) = (lv_2, lv_1)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), b: R.Tensor((3,), dtype="float32"), lv: R.Tensor((4, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv1: R.Tensor((2, 3), dtype="float32") = R.matmul(x, lv, out_dtype="void")
            gv: R.Tensor((2, 3), dtype="float32") = R.add(lv1, b)
            R.output(gv)
        return gv
