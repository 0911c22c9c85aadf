# SPDX-License-Identifier: Apache-2.0
# Extents that the new transform function takes from its weights come from the results of the one that exists.
@I.ir_module
class Before:
    @R.function
    def main_transform_params(params: R.Tuple(R.Tensor(("n", 4), "float32"))) -> R.Tuple(R.Tensor((4, "n"), "float32")):
        n = T.int64()
        R.func_attr({"num_input": 0})
        with R.dataflow():
            w = params[0]
            wt = R.permute_dims(w)
            gv = (wt,)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor(("k", 4), "float32"), wt: R.Tensor((4, "n"), "float32")) -> R.Tensor(("k", "n"), "float32"):
        k = T.int64()
        n = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            e = R.exp(wt)
            gv = R.matmul(x, e)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main_transform_params(params: R.Tuple(R.Tensor(("n", 4), dtype="float32"))) -> R.Tuple(R.Tensor((4, "n"), dtype="float32")):
        n = T.int64()
        R.func_attr({"num_input": 0})
        with R.dataflow():
            w: R.Tensor((n, 4), dtype="float32") = params[0]
            wt: R.Tensor((4, n), dtype="float32") = R.permute_dims(w, axes=None)
            e: R.Tensor((4, n), dtype="float32") = R.exp(wt)
            gv: R.Tuple(R.Tensor((4, n), dtype="float32")) = (e,)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor(("k", 4), dtype="float32"), e: R.Tensor((4, "n"), dtype="float32")) -> R.Tensor(("k", "n"), dtype="float32"):
        k = T.int64()
        n = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            gv: R.Tensor((k, n), dtype="float32") = R.matmul(x, e, out_dtype="void")
            R.output(gv)
        return gv
