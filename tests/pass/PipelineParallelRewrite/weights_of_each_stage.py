# SPDX-License-Identifier: Apache-2.0
# Weights that are all taken at the beginning are fetched by the stages that use them, and only by those.
@I.ir_module
class Before:
    @R.function
    def prefill(x: R.Tensor(("n", 4), dtype="float32"), packed_params: R.Tuple(R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"))):
        n = T.int64()
        R.func_attr({"num_input": 1, "pipeline_parallel_stages": 2})
        with R.dataflow():
            w0 = packed_params[0]
            w1 = packed_params[1]
            w2 = packed_params[2]
            w3 = packed_params[3]
            a: R.Tensor((n, 4), dtype="float32") = R.matmul(x, w0, out_dtype="void")
            b: R.Tensor((n, 4), dtype="float32") = R.matmul(a, w2, out_dtype="void")
            c: R.Tensor((n, 4), dtype="float32") = R.call_pure_packed("mlc.pipeline_parallel_stage_boundary", b, ty_args=(R.Tensor((n, 4), dtype="float32"),))
            d: R.Tensor((n, 4), dtype="float32") = R.matmul(c, w3, out_dtype="void")
            e: R.Tensor((n, 4), dtype="float32") = R.matmul(d, w2, out_dtype="void")
            R.output(e)
        return e
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(pure=False)
    def prefill(x: R.Tensor(("n", 4), dtype="float32"), packed_params: R.Any) -> R.Any:
        n = T.int64()
        cls = Expected
        gv: R.Any = R.call_builtin_with_ctx("mlc.multi_gpu.DispatchFunctionByGroup", (((cls.prefill_stage0, x, R.shape([]), packed_params), (cls.prefill_stage1, R.shape([n]), packed_params)),), ty_args=(R.Any,))
        return gv

    @R.function(private=True, pure=False)
    def prefill_stage0(x: R.Tensor(("n", 4), dtype="float32"), s: R.Shape([]), packed_params: R.Any) -> R.Tuple(R.Tensor(("n", 4), dtype="float32")):
        n = T.int64()
        R.func_attr({"num_input": 2})
        with R.dataflow():
            w0: R.Tensor((4, 4), dtype="float32") = R.call_pure_packed("vm.builtin.tuple_getitem", packed_params, R.prim_value(0), ty_args=(R.Tensor((4, 4), dtype="float32"),))
            w2: R.Tensor((4, 4), dtype="float32") = R.call_pure_packed("vm.builtin.tuple_getitem", packed_params, R.prim_value(2), ty_args=(R.Tensor((4, 4), dtype="float32"),))
            a: R.Tensor((n, 4), dtype="float32") = R.matmul(x, w0, out_dtype="void")
            b: R.Tensor((n, 4), dtype="float32") = R.matmul(a, w2, out_dtype="void")
            R.output(b)
        _: R.Tuple = R.call_packed("runtime.disco.send_to_next_group", b, ty_args=(R.Tuple,))
        return (b,)

    @R.function(private=True, pure=False)
    def prefill_stage1(s: R.Shape(["n"]), packed_params: R.Any) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            c = R.call_dps_packed("runtime.disco.recv_from_prev_group", R.tuple(), out_ty=R.Tensor((n, 4), dtype="float32"))
            w2: R.Tensor((4, 4), dtype="float32") = R.call_pure_packed("vm.builtin.tuple_getitem", packed_params, R.prim_value(2), ty_args=(R.Tensor((4, 4), dtype="float32"),))
            w3: R.Tensor((4, 4), dtype="float32") = R.call_pure_packed("vm.builtin.tuple_getitem", packed_params, R.prim_value(3), ty_args=(R.Tensor((4, 4), dtype="float32"),))
            d: R.Tensor((n, 4), dtype="float32") = R.matmul(c, w3, out_dtype="void")
            e: R.Tensor((n, 4), dtype="float32") = R.matmul(d, w2, out_dtype="void")
            R.output(e)
        return e
