# SPDX-License-Identifier: Apache-2.0
# What needs constants only is copied; stop_lift_params ends the lifting and goes; outside dataflow blocks nothing is lifted.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), w: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((4,), dtype="float32") = R.ones(R.shape([4]), dtype="float32")
            lv1: R.Tensor((4,), dtype="float32") = R.add(x, lv)
            lv2: R.Tensor((4,), dtype="float32") = R.multiply(w, lv)
            lv3: R.Tensor((4,), dtype="float32") = R.builtin.stop_lift_params(lv2)
            lv4: R.Tensor((4,), dtype="float32") = R.exp(lv3)
            gv: R.Tensor((4,), dtype="float32") = R.add(lv1, lv4)
            R.output(gv)
        gv1: R.Tensor((4,), dtype="float32") = R.exp(w)
        gv2: R.Tensor((4,), dtype="float32") = R.add(gv, gv1)
        return gv2
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main_transform_params(params: R.Tuple(R.Tensor((4,), dtype="float32"))) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")):
        R.func_attr({"num_input": 0})
        with R.dataflow():
            lv: R.Tensor((4,), dtype="float32") = R.ones(R.shape([4]), dtype="float32")
            lv_1: R.Tensor((4,), dtype="float32") = params[0]
            lv2: R.Tensor((4,), dtype="float32") = R.multiply(lv_1, lv)
            lv_2: R.Tensor((4,), dtype="float32") = params[0]
            gv: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")) = (lv_2, lv2)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), w: R.Tensor((4,), dtype="float32"), lv2: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((4,), dtype="float32") = R.ones(R.shape([4]), dtype="float32")
            lv1: R.Tensor((4,), dtype="float32") = R.add(x, lv)
            lv4: R.Tensor((4,), dtype="float32") = R.exp(lv2)
            gv: R.Tensor((4,), dtype="float32") = R.add(lv1, lv4)
            R.output(gv)
        gv1: R.Tensor((4,), dtype="float32") = R.exp(w)
        gv2: R.Tensor((4,), dtype="float32") = R.add(gv, gv1)
        return gv2
