# SPDX-License-Identifier: Apache-2.0
# One transform for two functions, each with names of its own for what they share; one has two names for the same value.
# passes: LiftTransformParams{shared_transform=true}
@I.ir_module
class Before:
    @R.function
    def first(x: R.Tensor((4,), dtype="float32"), w: R.Tensor(("m", 4), dtype="float32"), v: R.Tensor((4, 4), dtype="float32")) -> R.Tensor(("m", 4), dtype="float32"):
        R.func_attr({"num_input": 1})
        m = T.int64()
        with R.dataflow():
            lv: R.Tensor((4, 4), dtype="float32") = R.permute_dims(v)
            lv1: R.Tensor((m, 4), dtype="float32") = R.broadcast_to(x, R.shape([m, 4]))
            gv: R.Tensor((m, 4), dtype="float32") = R.matmul(lv1, lv)
            R.output(gv)
        return gv

    @R.function
    def second(y: R.Tensor((4,), dtype="float32"), u: R.Tensor(("k", 4), dtype="float32"), t: R.Tensor((4, 4), dtype="float32")) -> R.Tensor(("k", 4), dtype="float32"):
        R.func_attr({"num_input": 1})
        k = T.int64()
        with R.dataflow():
            twice: R.Tensor((4, 4), dtype="float32") = R.permute_dims(t)
            again: R.Tensor((4, 4), dtype="float32") = R.permute_dims(t)
            own: R.Tensor((4, 4), dtype="float32") = R.exp(again)
            wide: R.Tensor((k, 4), dtype="float32") = R.broadcast_to(y, R.shape([k, 4]))
            gv: R.Tensor((k, 4), dtype="float32") = R.matmul(R.matmul(wide, twice), own)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def first(x: R.Tensor((4,), dtype="float32"), vars_from_compile_time_params: R.Shape(["m"]), lv: R.Tensor((4, 4), dtype="float32")) -> R.Tensor(("m", 4), dtype="float32"):
        m = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv1: R.Tensor((m, 4), dtype="float32") = R.broadcast_to(x, R.shape([m, 4]))
            gv: R.Tensor((m, 4), dtype="float32") = R.matmul(lv1, lv, out_dtype="void")
            R.output(gv)
        return gv

    @R.function
    def second(y: R.Tensor((4,), dtype="float32"), vars_from_compile_time_params: R.Shape(["k"]), again: R.Tensor((4, 4), dtype="float32")) -> R.Tensor(("k", 4), dtype="float32"):
        k = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            own: R.Tensor((4, 4), dtype="float32") = R.exp(again)
            wide: R.Tensor((k, 4), dtype="float32") = R.broadcast_to(y, R.shape([k, 4]))
            lv: R.Tensor((k, 4), dtype="float32") = R.matmul(wide, again, out_dtype="void")
            gv: R.Tensor((k, 4), dtype="float32") = R.matmul(lv, own, out_dtype="void")
            R.output(gv)
        return gv

    @R.function
    def transform_params(params: R.Tuple(R.Tensor(("m", 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"))) -> R.Tuple(R.Shape(["m"]), R.Tensor((4, 4), dtype="float32")):
        m = T.int64()
        R.func_attr({"num_input": 0})
        with R.dataflow():
            lv: R.Tensor((4, 4), dtype="float32") = params[1]
            lv_1: R.Tensor((4, 4), dtype="float32") = R.permute_dims(lv, axes=None)
            gv: R.Tuple(R.Shape([m]), R.Tensor((4, 4), dtype="float32")) = (R.shape([m]), lv_1)
            R.output(gv)
        return gv
