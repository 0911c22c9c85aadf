# SPDX-License-Identifier: Apache-2.0
# No weight determines n: weights with extents made of it are passed on as they are, and nothing made of them is lifted.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", "n + 1"), dtype="float32"), w: R.Tensor(("n + 1",), dtype="float32"), t: R.Tuple(R.Tensor(("n + 1", 3), dtype="float32"), R.Shape(["n * 2"])), v: R.Tensor((4,), dtype="float32")) -> R.Tensor(("n", "n + 1"), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv = R.sum(w)
            lv1 = R.sum(t[0])
            lv2 = R.sum(v)
            lv3 = R.multiply(R.multiply(lv, lv1), lv2)
            gv = R.add(x, lv3)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main_transform_params(params: R.Tuple(R.Tensor(dtype="float32", ndim=1), R.Tuple(R.Tensor(dtype="float32", ndim=2), R.Shape(ndim=1)), R.Tensor((4,), dtype="float32"))) -> R.Tuple(R.Tensor(dtype="float32", ndim=1), R.Tuple(R.Tensor(dtype="float32", ndim=2), R.Shape(ndim=1)), R.Tensor((), dtype="float32")):
        R.func_attr({"num_input": 0})
        with R.dataflow():
            lv: R.Tensor((4,), dtype="float32") = params[2]
            lv2: R.Tensor((), dtype="float32") = R.sum(lv, axis=None, keepdims=False)
            lv_1: R.Tensor(dtype="float32", ndim=1) = params[0]
            lv_2: R.Tuple(R.Tensor(dtype="float32", ndim=2), R.Shape(ndim=1)) = params[1]
            gv: R.Tuple(R.Tensor(dtype="float32", ndim=1), R.Tuple(R.Tensor(dtype="float32", ndim=2), R.Shape(ndim=1)), R.Tensor((), dtype="float32")) = (lv_1, lv_2, lv2)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor(("n", "n + 1"), dtype="float32"), w: R.Tensor(("n + 1",), dtype="float32"), t: R.Tuple(R.Tensor(("n + 1", 3), dtype="float32"), R.Shape(["n * 2"])), lv2: R.Tensor((), dtype="float32")) -> R.Tensor(("n", "n + 1"), dtype="float32"):
        n = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((), dtype="float32") = R.sum(w, axis=None, keepdims=False)
            lv_1: R.Tensor((n + 1, 3), dtype="float32") = t[0]
            lv1: R.Tensor((), dtype="float32") = R.sum(lv_1, axis=None, keepdims=False)
            lv_2: R.Tensor((), dtype="float32") = R.multiply(lv, lv1)
            lv3: R.Tensor((), dtype="float32") = R.multiply(lv_2, lv2)
            gv: R.Tensor((n, n + 1), dtype="float32") = R.add(x, lv3)
            R.output(gv)
        return gv
