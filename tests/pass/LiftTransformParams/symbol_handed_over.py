# SPDX-License-Identifier: Apache-2.0
# A symbolic variable that only weights define and that is still needed is handed over in a shape, in front of the values.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), w: R.Tensor(("m", 4), dtype="float32")) -> R.Tensor(("m", 4), dtype="float32"):
        R.func_attr({"num_input": 1})
        m = T.int64()
        with R.dataflow():
            lv: R.Tensor((4,), dtype="float32") = R.sum(w, axis=[0])
            lv1: R.Tensor((m, 4), dtype="float32") = R.broadcast_to(x, R.shape([m, 4]))
            gv: R.Tensor((m, 4), dtype="float32") = R.multiply(lv1, lv)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main_transform_params(params: R.Tuple(R.Tensor(("m", 4), dtype="float32"))) -> R.Tuple(R.Shape(["m"]), R.Tensor((4,), dtype="float32")):
        m = T.int64()
        R.func_attr({"num_input": 0})
        with R.dataflow():
            lv: R.Tensor((m, 4), dtype="float32") = params[0]
            lv_1: R.Tensor((4,), dtype="float32") = R.sum(lv, axis=[0], keepdims=False)
            gv: R.Tuple(R.Shape([m]), R.Tensor((4,), dtype="float32")) = (R.shape([m]), lv_1)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), vars_from_compile_time_params: R.Shape(["m"]), lv: R.Tensor((4,), dtype="float32")) -> R.Tensor(("m", 4), dtype="float32"):
        m = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv1: R.Tensor((m, 4), dtype="float32") = R.broadcast_to(x, R.shape([m, 4]))
            gv: R.Tensor((m, 4), dtype="float32") = R.multiply(lv1, lv)
            R.output(gv)
        return gv
