# SPDX-License-Identifier: Apache-2.0
# Symbolic variables that only weights define go with what is lifted; those of inputs are known on both sides.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, "n"), dtype="float32"), w: R.Tensor(("m", 4), dtype="float32"), v: R.Tensor((3, "n"), dtype="float32")) -> R.Tensor((2, "n"), dtype="float32"):
        R.func_attr({"num_input": 1})
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            lv: R.Tensor((4,), dtype="float32") = R.sum(w, axis=[0])
            lv1: R.Tensor((n,), dtype="float32") = R.sum(v, axis=[0])
            lv2: R.Tensor((m,), dtype="float32") = R.zeros(R.shape([m]), dtype="float32")
            lv3: R.Tensor((), dtype="float32") = R.sum(lv2)
            lv4: R.Tensor((), dtype="float32") = R.sum(lv)
            lv5: R.Tensor((2, n), dtype="float32") = R.multiply(x, lv1)
            lv6: R.Tensor((2, n), dtype="float32") = R.multiply(lv5, lv4)
            gv: R.Tensor((2, n), dtype="float32") = R.add(lv6, lv3)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main_transform_params(params: R.Tuple(R.Tensor(("m", 4), dtype="float32"), R.Tensor((3, "n"), dtype="float32"))) -> R.Tuple(R.Tensor(("n",), dtype="float32"), R.Tensor((), dtype="float32"), R.Tensor((), dtype="float32")):
        m = T.int64()
        n = T.int64()
        R.func_attr({"num_input": 0})
        with R.dataflow():
            lv: R.Tensor((m, 4), dtype="float32") = params[0]
            lv_1: R.Tensor((4,), dtype="float32") = R.sum(lv, axis=[0], keepdims=False)
            lv_2: R.Tensor((3, n), dtype="float32") = params[1]
            lv1: R.Tensor((n,), dtype="float32") = R.sum(lv_2, axis=[0], keepdims=False)
            lv2: R.Tensor((m,), dtype="float32") = R.zeros(R.shape([m]), dtype="float32")
            lv3: R.Tensor((), dtype="float32") = R.sum(lv2, axis=None, keepdims=False)
            lv4: R.Tensor((), dtype="float32") = R.sum(lv_1, axis=None, keepdims=False)
            gv: R.Tuple(R.Tensor((n,), dtype="float32"), R.Tensor((), dtype="float32"), R.Tensor((), dtype="float32")) = (lv1, lv3, lv4)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2, "n"), dtype="float32"), lv1: R.Tensor(("n",), dtype="float32"), lv3: R.Tensor((), dtype="float32"), lv4: R.Tensor((), dtype="float32")) -> R.Tensor((2, "n"), dtype="float32"):
        n = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv5: R.Tensor((2, n), dtype="float32") = R.multiply(x, lv1)
            lv6: R.Tensor((2, n), dtype="float32") = R.multiply(lv5, lv4)
            gv: R.Tensor((2, n), dtype="float32") = R.add(lv6, lv3)
            R.output(gv)
        return gv
