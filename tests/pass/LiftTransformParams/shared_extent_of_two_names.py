# SPDX-License-Identifier: Apache-2.0
# Two extents of one function are one of the other: what is handed over goes by the name that is needed as the function runs.
# passes: LiftTransformParams{shared_transform=true}
@I.ir_module
class Before:
    @R.function
    def first(x: R.Tensor((4,), dtype="float32"), w: R.Tensor(("m", 4), dtype="float32"), v: R.Tensor(("m", 4), dtype="float32")):
        R.func_attr({"num_input": 1})
        m = T.int64()
        with R.dataflow():
            gv: R.Tensor((m, 4), dtype="float32") = R.broadcast_to(x, R.shape([m, 4]))
            R.output(gv)
        return gv

    @R.function
    def second(y: R.Tensor((4,), dtype="float32"), u: R.Tensor(("k", 4), dtype="float32"), t: R.Tensor(("l", 4), dtype="float32")):
        R.func_attr({"num_input": 1})
        k = T.int64()
        l = T.int64()
        with R.dataflow():
            gv: R.Tensor((l, 4), dtype="float32") = R.broadcast_to(y, R.shape([l, 4]))
            R.output(gv)
        return gv

    @R.function
    def third(y: R.Tensor((4,), dtype="float32"), u: R.Tensor(("k", 4), dtype="float32"), t: R.Tensor(("l", 4), dtype="float32")):
        R.func_attr({"num_input": 1})
        k = T.int64()
        l = T.int64()
        with R.dataflow():
            gv: R.Tensor((k, 4), dtype="float32") = R.broadcast_to(y, R.shape([k, 4]))
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def first(x: R.Tensor((4,), dtype="float32"), vars_from_compile_time_params: R.Shape(["m"])) -> R.Tensor(("m", 4), dtype="float32"):
        m = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            gv: R.Tensor((m, 4), dtype="float32") = R.broadcast_to(x, R.shape([m, 4]))
            R.output(gv)
        return gv

    @R.function
    def second(y: R.Tensor((4,), dtype="float32"), vars_from_compile_time_params: R.Shape(["l"])) -> R.Tensor(("l", 4), dtype="float32"):
        l = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            gv: R.Tensor((l, 4), dtype="float32") = R.broadcast_to(y, R.shape([l, 4]))
            R.output(gv)
        return gv

    @R.function
    def third(y: R.Tensor((4,), dtype="float32"), vars_from_compile_time_params: R.Shape(["k"])) -> R.Tensor(("k", 4), dtype="float32"):
        k = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            gv: R.Tensor((k, 4), dtype="float32") = R.broadcast_to(y, R.shape([k, 4]))
            R.output(gv)
        return gv

    @R.function
    def transform_params(params: R.Tuple(R.Tensor(("m", 4), dtype="float32"), R.Tensor(("m", 4), dtype="float32"))) -> R.Tuple(R.Shape(["m"])):
        m = T.int64()
        R.func_attr({"num_input": 0})
        with R.dataflow():
            gv: R.Tuple(R.Shape([m])) = (R.shape([m]),)
            R.output(gv)
        return gv
