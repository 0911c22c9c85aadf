# SPDX-License-Identifier: Apache-2.0
# Without the option the bound of embed's rows counts.
# passes: AttachAllocEmbeddingTensorFunc
@I.ir_module
class Before:
    @R.function
    def embed(ids: R.Tensor(("n",), "int32"), w: R.Tensor((32, 8), "float16")) -> R.Tensor(("n", 8), "float16"):
        R.func_attr({"tir_var_upper_bound": {"n": 16}})
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
    def alloc_embedding_tensor() -> R.Tensor((16, 8), dtype="float16"):
        gv: R.Tensor((16, 8), dtype="float16") = R.builtin.alloc_tensor(R.shape([16, 8]), R.dtype("float16"), R.prim_value(0), R.str("global"))
        return gv

    @R.function
    def embed(ids: R.Tensor(("n",), dtype="int32"), w: R.Tensor((32, 8), dtype="float16")) -> R.Tensor(("n", 8), dtype="float16"):
        n = T.int64()
        R.func_attr({"tir_var_upper_bound": {"n": 16}})
        with R.dataflow():
            gv: R.Tensor((n, 8), dtype="float16") = R.take(w, ids, axis=0, mode="fast")
            R.output(gv)
        return gv
