# SPDX-License-Identifier: Apache-2.0
# Only tensors can be sent.
# error: stage 1 of 'prefill' needs 'o' of stage 0, which is R.
# at: 16
# note: 'o' is computed at
@I.ir_module
class Before:
    @R.function
    def prefill(x: R.Tensor(("n", 4), dtype="float32"), packed_params: R.Tuple(R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"))):
        n = T.int64()
        R.func_attr({"num_input": 1, "pipeline_parallel_stages": 2})
        with R.dataflow():
            o: R.Object = R.call_pure_packed("state", x, ty_args=(R.Object,))
            a = R.nn.relu(x)
            b: R.Tensor((n, 4), dtype="float32") = R.call_pure_packed("mlc.pipeline_parallel_stage_boundary", a, ty_args=(R.Tensor((n, 4), dtype="float32"),))
            c: R.Tensor((n, 4), dtype="float32") = R.call_pure_packed("use", b, o, ty_args=(R.Tensor((n, 4), dtype="float32"),))
            R.output(c)
        return c
