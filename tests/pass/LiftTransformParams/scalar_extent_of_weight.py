# SPDX-License-Identifier: Apache-2.0
# An extent of a weight that is a weight itself: the bundle does not tell it, a match_cast does.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=1), extent: R.Prim("int64"), weight: R.Tensor(["extent"], dtype="float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv = R.multiply(weight, weight)
            gv = R.add(x, lv)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main_transform_params(params: R.Tuple(R.Prim("int64"), R.Tensor(dtype="float32", ndim=1))) -> R.Tuple(R.Prim("int64"), R.Tensor(dtype="float32", ndim=1)):
        R.func_attr({"num_input": 0})
        with R.dataflow():
            extent: R.Prim("int64") = params[0]
            lv: R.Tensor(dtype="float32", ndim=1) = params[1]
            lv_1 = R.match_cast(lv, R.Tensor((extent,), dtype="float32"))
            lv_2: R.Tensor((extent,), dtype="float32") = R.multiply(lv_1, lv_1)
            gv: R.Tuple(R.Prim("int64"), R.Tensor((extent,), dtype="float32")) = (extent, lv_2)
            R.output(extent, gv)
        return gv

    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=1), extent: R.Prim("int64"), lv: R.Tensor(("extent",), dtype="float32")) -> R.Tensor(dtype="float32", ndim=1):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            gv: R.Tensor(dtype="float32", ndim=1) = R.add(x, lv)
            R.output(gv)
        return gv
