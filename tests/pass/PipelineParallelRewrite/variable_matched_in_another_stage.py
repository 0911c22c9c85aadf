# SPDX-License-Identifier: Apache-2.0
# A variable that one stage finds out is not known to another.
# error: stage 1 of 'prefill' needs the symbolic variable 'm'
# at: 17
# note: 'm' gets its value in another stage, at
@I.ir_module
class Before:
    @R.function
    def prefill(x: R.Tensor(("n", 4), dtype="float32"), packed_params: R.Tuple(R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"))):
        n = T.int64()
        m = T.int64()
        R.func_attr({"num_input": 1, "pipeline_parallel_stages": 2})
        with R.dataflow():
            u: R.Tensor(ndim=2, dtype="float32") = R.call_pure_packed("unique", x, ty_args=(R.Tensor(ndim=2, dtype="float32"),))
            v = R.match_cast(u, R.Tensor((m, 4), dtype="float32"))
            a: R.Tensor((m, 4), dtype="float32") = R.exp(v)
            b: R.Tensor((m, 4), dtype="float32") = R.call_pure_packed("mlc.pipeline_parallel_stage_boundary", a, ty_args=(R.Tensor((m, 4), dtype="float32"),))
            c: R.Tensor((m, 4), dtype="float32") = R.exp(b)
            R.output(c)
        return c
