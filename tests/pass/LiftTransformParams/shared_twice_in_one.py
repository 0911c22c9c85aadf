# SPDX-License-Identifier: Apache-2.0
# What one function computes twice, and the other not at all, is not common to both.
# passes: LiftTransformParams{shared_transform=true}
@I.ir_module
class Before:
    @R.function
    def first(x: R.Tensor((4,), "float32"), v: R.Tensor((4,), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a = R.exp(v)
            b = R.exp(v)
            gv = R.add(R.add(x, a), b)
            R.output(gv)
        return gv

    @R.function
    def second(x: R.Tensor((4,), "float32"), v: R.Tensor((4,), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a = R.cos(v)
            gv = R.add(x, a)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def first(x: R.Tensor((4,), dtype="float32"), v: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a: R.Tensor((4,), dtype="float32") = R.exp(v)
            b: R.Tensor((4,), dtype="float32") = R.exp(v)
            lv: R.Tensor((4,), dtype="float32") = R.add(x, a)
            gv: R.Tensor((4,), dtype="float32") = R.add(lv, b)
            R.output(gv)
        return gv

    @R.function
    def second(x: R.Tensor((4,), dtype="float32"), v: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a: R.Tensor((4,), dtype="float32") = R.cos(v)
            gv: R.Tensor((4,), dtype="float32") = R.add(x, a)
            R.output(gv)
        return gv

    @R.function
    def transform_params(params: R.Tuple(R.Tensor((4,), dtype="float32"))) -> R.Tuple(R.Tensor((4,), dtype="float32")):
        R.func_attr({"num_input": 0})
        return params
