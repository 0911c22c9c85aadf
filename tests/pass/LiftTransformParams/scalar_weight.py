# SPDX-License-Identifier: Apache-2.0
# A scalar among the weights makes the extent of what is lifted.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n",), dtype="float32"), w: R.Tensor(("n",), dtype="float32"), s: R.Prim("int64")):
        n = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((n,), dtype="float32") = R.exp(w)
            lv1: R.Tensor((n,), dtype="float32") = R.add(x, lv)
            lv2: R.Tensor((s,), dtype="float32") = R.full(R.shape([s]), R.const(2.0, "float32"))
            lv3: R.Tensor((s,), dtype="float32") = R.exp(lv2)
            gv = (lv3, lv1)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main_transform_params(params: R.Tuple(R.Tensor(("n",), dtype="float32"), R.Prim("int64"))) -> R.Tuple(R.Prim("int64"), R.Tensor(("n",), dtype="float32"), R.Tensor(dtype="float32", ndim=1)):
        n = T.int64()
        R.func_attr({"num_input": 0})
        with R.dataflow():
            s: R.Prim("int64") = params[1]
            lv: R.Tensor((n,), dtype="float32") = params[0]
            lv_1: R.Tensor((n,), dtype="float32") = R.exp(lv)
            lv2: R.Tensor((s,), dtype="float32") = R.full(R.shape([s]), R.const(2.0, "float32"), dtype="void")
            lv3: R.Tensor((s,), dtype="float32") = R.exp(lv2)
            gv: R.Tuple(R.Prim("int64"), R.Tensor((n,), dtype="float32"), R.Tensor((s,), dtype="float32")) = (s, lv_1, lv3)
            R.output(s, gv)
        return gv

    @R.function
    def main(x: R.Tensor(("n",), dtype="float32"), s: R.Prim("int64"), lv: R.Tensor(("n",), dtype="float32"), lv3: R.Tensor(("s",), dtype="float32")) -> R.Tuple(R.Tensor(("s",), dtype="float32"), R.Tensor(("n",), dtype="float32")):
        n = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv1: R.Tensor((n,), dtype="float32") = R.add(x, lv)
            gv: R.Tuple(R.Tensor((s,), dtype="float32"), R.Tensor((n,), dtype="float32")) = (lv3, lv1)
            R.output(gv)
        return gv
