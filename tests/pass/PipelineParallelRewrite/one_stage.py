# SPDX-License-Identifier: Apache-2.0
# One stage is not cut, and a function without the attribute is none of this pass's.
@I.ir_module
class Before:
    @R.function
    def prefill(x: R.Tensor(("n", 4), dtype="float32"), packed_params: R.Tuple(R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"))):
        n = T.int64()
        R.func_attr({"num_input": 1, "pipeline_parallel_stages": 1})
        with R.dataflow():
            a = R.nn.relu(x)
            b: R.Tensor((n, 4), dtype="float32") = R.call_pure_packed("mlc.pipeline_parallel_stage_boundary", a, ty_args=(R.Tensor((n, 4), dtype="float32"),))
            c = R.exp(b)
            R.output(c)
        return c

    @R.function
    def embed(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def embed(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        return x

    @R.function
    def prefill(x: R.Tensor(("n", 4), dtype="float32"), packed_params: R.Tuple(R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"))) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"num_input": 1, "pipeline_parallel_stages": 1})
        with R.dataflow():
            a: R.Tensor((n, 4), dtype="float32") = R.nn.relu(x)
            b: R.Tensor((n, 4), dtype="float32") = R.call_pure_packed("mlc.pipeline_parallel_stage_boundary", a, ty_args=(R.Tensor((n, 4), dtype="float32"),))
            c: R.Tensor((n, 4), dtype="float32") = R.exp(b)
            R.output(c)
        return c
