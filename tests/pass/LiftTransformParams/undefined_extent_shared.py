# SPDX-License-Identifier: Apache-2.0
# As undefined_extent.py, with one transform for two functions.
# passes: LiftTransformParams{shared_transform=true}
@I.ir_module
class Before:
    @R.function
    def first(x: R.Tensor(("n",), dtype="float32"), w: R.Tensor(("n + 1",), dtype="float32"), v: R.Tensor((4, 5), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv = R.sum(w)
            lv1 = R.sum(v)
            gv = R.add(x, R.multiply(lv, lv1))
            R.output(gv)
        return gv

    @R.function
    def second(x: R.Tensor(("n",), dtype="float32"), w: R.Tensor(("n + 1",), dtype="float32"), v: R.Tensor((4, 5), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv = R.sum(w)
            lv1 = R.sum(v)
            gv = R.subtract(x, R.multiply(lv, lv1))
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def first(x: R.Tensor(("n",), dtype="float32"), w: R.Tensor(("n + 1",), dtype="float32"), lv1: R.Tensor((), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):
        n = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((), dtype="float32") = R.sum(w, axis=None, keepdims=False)
            lv_1: R.Tensor((), dtype="float32") = R.multiply(lv, lv1)
            gv: R.Tensor((n,), dtype="float32") = R.add(x, lv_1)
            R.output(gv)
        return gv

    @R.function
    def second(x: R.Tensor(("n",), dtype="float32"), w: R.Tensor(("n + 1",), dtype="float32"), lv1: R.Tensor((), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):
        n = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((), dtype="float32") = R.sum(w, axis=None, keepdims=False)
            lv_1: R.Tensor((), dtype="float32") = R.multiply(lv, lv1)
            gv: R.Tensor((n,), dtype="float32") = R.subtract(x, lv_1)
            R.output(gv)
        return gv

    @R.function
    def transform_params(params: R.Tuple(R.Tensor(dtype="float32", ndim=1), R.Tensor((4, 5), dtype="float32"))) -> R.Tuple(R.Tensor(dtype="float32", ndim=1), R.Tensor((), dtype="float32")):
        R.func_attr({"num_input": 0})
        with R.dataflow():
            lv: R.Tensor((4, 5), dtype="float32") = params[1]
            lv1: R.Tensor((), dtype="float32") = R.sum(lv, axis=None, keepdims=False)
            lv_1: R.Tensor(dtype="float32", ndim=1) = params[0]
            gv: R.Tuple(R.Tensor(dtype="float32", ndim=1), R.Tensor((), dtype="float32")) = (lv_1, lv1)
            R.output(gv)
        return gv
