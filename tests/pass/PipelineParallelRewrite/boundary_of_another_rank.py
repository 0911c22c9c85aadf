# SPDX-License-Identifier: Apache-2.0
# What is received is what is sent: another rank is refused, with both places.
# error: the stages of 'prefill' do not match: value 0 behind the boundary is received as
# at: 15
# note: boundary_of_another_rank.py:14:
@I.ir_module
class Before:
    @R.function
    def prefill(x: R.Tensor(("n", 4), dtype="float32"), y: R.Tensor(("m", 4), dtype="float32"), packed_params: R.Tuple(R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"))):
        n = T.int64()
        m = T.int64()
        R.func_attr({"num_input": 2, "pipeline_parallel_stages": 2})
        with R.dataflow():
            a = R.nn.relu(x)
            b: R.Tensor((n,), dtype="float32") = R.call_pure_packed("mlc.pipeline_parallel_stage_boundary", a, ty_args=(R.Tensor((n,), dtype="float32"),))
            c = R.exp(b)
            R.output(c)
        return c
