# SPDX-License-Identifier: Apache-2.0
# A parameter of shape type defines variables where it is needed; others come through s.
@I.ir_module
class Before:
    @R.function
    def prefill(x: R.Tensor(("n", 4), dtype="float32"), pages: R.Shape(["m", "k"]), packed_params: R.Tuple(R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"))):
        n = T.int64()
        m = T.int64()
        k = T.int64()
        R.func_attr({"num_input": 2, "pipeline_parallel_stages": 2})
        with R.dataflow():
            a: R.Tensor((m, 4), dtype="float32") = R.call_dps_packed("spread", (x, pages), out_ty=R.Tensor((m, 4), dtype="float32"))
            b: R.Tensor((m, 4), dtype="float32") = R.call_pure_packed("mlc.pipeline_parallel_stage_boundary", a, ty_args=(R.Tensor((m, 4), dtype="float32"),))
            c: R.Tensor((n, m, k), dtype="float32") = R.call_dps_packed("gather", (b,), out_ty=R.Tensor((n, m, k), dtype="float32"))
            R.output(c)
        return c
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(pure=False)
    def prefill(x: R.Tensor(("n", 4), dtype="float32"), pages: R.Shape(["m", "k"]), packed_params: R.Any) -> R.Any:
        n = T.int64()
        m = T.int64()
        k = T.int64()
        cls = Expected
        gv: R.Any = R.call_builtin_with_ctx("mlc.multi_gpu.DispatchFunctionByGroup", (((cls.prefill_stage0, x, pages, R.shape([]), packed_params), (cls.prefill_stage1, R.shape([m, n, k]), packed_params)),), ty_args=(R.Any,))
        return gv

    @R.function(private=True, pure=False)
    def prefill_stage0(x: R.Tensor(("n", 4), dtype="float32"), pages: R.Shape(["m", "k"]), s: R.Shape([]), packed_params: R.Any) -> R.Tuple(R.Tensor(("m", 4), dtype="float32")):
        n = T.int64()
        m = T.int64()
        k = T.int64()
        R.func_attr({"num_input": 3})
        with R.dataflow():
            a = R.call_dps_packed("spread", (x, pages), out_ty=R.Tensor((m, 4), dtype="float32"))
            R.output(a)
        _: R.Tuple = R.call_packed("runtime.disco.send_to_next_group", a, ty_args=(R.Tuple,))
        return (a,)

    @R.function(private=True, pure=False)
    def prefill_stage1(s: R.Shape(["m", "n", "k"]), packed_params: R.Any) -> R.Tensor(("n", "m", "k"), dtype="float32"):
        m = T.int64()
        n = T.int64()
        k = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            b = R.call_dps_packed("runtime.disco.recv_from_prev_group", R.tuple(), out_ty=R.Tensor((m, 4), dtype="float32"))
            c = R.call_dps_packed("gather", (b,), out_ty=R.Tensor((n, m, k), dtype="float32"))
            R.output(c)
        return c
