# SPDX-License-Identifier: Apache-2.0
# It has to be a number.
# error: the function attribute 'num_input' must be an integer that is not negative, not "1"
# at: 8
@I.ir_module
class Before:
    @R.function
    def prefill(x: R.Tensor(("n", 4), dtype="float32"), packed_params: R.Tuple(R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"))):
        n = T.int64()
        R.func_attr({"num_input": "1", "pipeline_parallel_stages": 2})
        with R.dataflow():
            a = R.nn.relu(x)
            b: R.Tensor((n, 4), dtype="float32") = R.call_pure_packed("mlc.pipeline_parallel_stage_boundary", a, ty_args=(R.Tensor((n, 4), dtype="float32"),))
            c = R.exp(b)
            R.output(c)
        return c
