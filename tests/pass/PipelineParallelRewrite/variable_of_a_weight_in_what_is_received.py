# SPDX-License-Identifier: Apache-2.0
# A weight is matched before the receive that needs its variable, though the stage does not use it; one that it uses anyway is preferred.
@I.ir_module
class Before:
    @R.function
    def prefill(x: R.Tensor(("n", 4), dtype="float32"), packed_params: R.Tuple(R.Tensor(("vocab_size", 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((vocab_size,), dtype="float32"))):
        n = T.int64()
        vocab_size = T.int64()
        R.func_attr({"num_input": 1, "pipeline_parallel_stages": 3})
        with R.dataflow():
            w0 = packed_params[0]
            wt = R.permute_dims(w0)
            a: R.Tensor((n, vocab_size), dtype="float32") = R.matmul(x, wt, out_dtype="void")
            b: R.Tensor((n, vocab_size), dtype="float32") = R.call_pure_packed("mlc.pipeline_parallel_stage_boundary", a, ty_args=(R.Tensor((n, vocab_size), dtype="float32"),))
            c: R.Tensor((n, vocab_size), dtype="float32") = R.exp(b)
            d: R.Tensor((n, vocab_size), dtype="float32") = R.call_pure_packed("mlc.pipeline_parallel_stage_boundary", c, ty_args=(R.Tensor((n, vocab_size), dtype="float32"),))
            w2 = packed_params[2]
            e: R.Tensor((n, vocab_size), dtype="float32") = R.add(d, w2)
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
        gv: R.Any = R.call_builtin_with_ctx("mlc.multi_gpu.DispatchFunctionByGroup", (((cls.prefill_stage0, x, R.shape([]), packed_params), (cls.prefill_stage1, R.shape([n]), packed_params), (cls.prefill_stage2, R.shape([n]), packed_params)),), ty_args=(R.Any,))
        return gv

    @R.function(private=True, pure=False)
    def prefill_stage0(x: R.Tensor(("n", 4), dtype="float32"), s: R.Shape([]), packed_params: R.Any) -> R.Tuple(R.Tensor(dtype="float32", ndim=2)):
        n = T.int64()
        R.func_attr({"num_input": 2})
        with R.dataflow():
            w0: R.Any = R.call_pure_packed("vm.builtin.tuple_getitem", packed_params, R.prim_value(0), ty_args=(R.Any,))
            vocab_size = T.int64()
            w0_cast = R.match_cast(w0, R.Tensor((vocab_size, 4), dtype="float32"))
            wt: R.Tensor((4, vocab_size), dtype="float32") = R.permute_dims(w0_cast, axes=None)
            a: R.Tensor((n, vocab_size), dtype="float32") = R.matmul(x, wt, out_dtype="void")
            R.output(a)
        _: R.Tuple = R.call_packed("runtime.disco.send_to_next_group", a, ty_args=(R.Tuple,))
        return (a,)

    @R.function(private=True, pure=False)
    def prefill_stage1(s: R.Shape(["n"]), packed_params: R.Any) -> R.Tuple(R.Tensor(dtype="float32", ndim=2)):
        n = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            param: R.Any = R.call_pure_packed("vm.builtin.tuple_getitem", packed_params, R.prim_value(0), ty_args=(R.Any,))
            vocab_size = T.int64()
            param_cast = R.match_cast(param, R.Tensor((vocab_size, 4), dtype="float32"))
            b = R.call_dps_packed("runtime.disco.recv_from_prev_group", R.tuple(), out_ty=R.Tensor((n, vocab_size), dtype="float32"))
            c: R.Tensor((n, vocab_size), dtype="float32") = R.exp(b)
            R.output(c)
        _: R.Tuple = R.call_packed("runtime.disco.send_to_next_group", c, ty_args=(R.Tuple,))
        return (c,)

    @R.function(private=True, pure=False)
    def prefill_stage2(s: R.Shape(["n"]), packed_params: R.Any) -> R.Tensor(dtype="float32", ndim=2):
        n = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            w2: R.Any = R.call_pure_packed("vm.builtin.tuple_getitem", packed_params, R.prim_value(2), ty_args=(R.Any,))
            vocab_size = T.int64()
            w2_cast = R.match_cast(w2, R.Tensor((vocab_size,), dtype="float32"))
            d = R.call_dps_packed("runtime.disco.recv_from_prev_group", R.tuple(), out_ty=R.Tensor((n, vocab_size), dtype="float32"))
            e: R.Tensor((n, vocab_size), dtype="float32") = R.add(d, w2_cast)
            R.output(e)
        return e
