# SPDX-License-Identifier: Apache-2.0
# Nothing says how many rows: nothing is attached.
# passes: AttachAllocEmbeddingTensorFunc
@I.ir_module
class Before:
    @R.function
    def embed(ids: R.Tensor(("n",), "int32"), w: R.Tensor((32, 8), "float16")) -> R.Tensor(("n", 8), "float16"):
        with R.dataflow():
            gv = R.take(w, ids, axis=0)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def embed(ids: R.Tensor(("n",), dtype="int32"), w: R.Tensor((32, 8), dtype="float16")) -> R.Tensor(("n", 8), dtype="float16"):
        n = T.int64()
        with R.dataflow():
            gv: R.Tensor((n, 8), dtype="float16") = R.take(w, ids, axis=0, mode="fast")
            R.output(gv)
        return gv
