# SPDX-License-Identifier: Apache-2.0
# Each stage takes the parameters that it uses, in the order of their first use; an object goes to all that use it.
@I.ir_module
class Before:
    @R.function
    def prefill(x: R.Tensor(("n", 4), dtype="float32"), cache: R.Object, y: R.Tensor(("n", 4), dtype="float32"), z: R.Tensor(("n", 4), dtype="float32"), packed_params: R.Tuple(R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"))):
        n = T.int64()
        R.func_attr({"num_input": 4, "pipeline_parallel_stages": 2})
        with R.dataflow():
            k: R.Tensor((n, 4), dtype="float32") = R.call_pure_packed("attention", cache, z, ty_args=(R.Tensor((n, 4), dtype="float32"),))
            a = R.add(k, x)
            b: R.Tensor((n, 4), dtype="float32") = R.call_pure_packed("mlc.pipeline_parallel_stage_boundary", a, ty_args=(R.Tensor((n, 4), dtype="float32"),))
            l: R.Tensor((n, 4), dtype="float32") = R.call_pure_packed("attention", cache, b, ty_args=(R.Tensor((n, 4), dtype="float32"),))
            c = R.add(l, y)
            d = R.add(c, x)
            gv = (d, cache)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(pure=False)
    def prefill(x: R.Tensor(("n", 4), dtype="float32"), cache: R.Any, y: R.Tensor(("n", 4), dtype="float32"), z: R.Tensor(("n", 4), dtype="float32"), packed_params: R.Any) -> R.Any:
        n = T.int64()
        cls = Expected
        gv: R.Any = R.call_builtin_with_ctx("mlc.multi_gpu.DispatchFunctionByGroup", (((cls.prefill_stage0, cache, z, x, R.shape([]), packed_params), (cls.prefill_stage1, cache, y, x, R.shape([]), packed_params)),), ty_args=(R.Any,))
        return gv

    @R.function(private=True, pure=False)
    def prefill_stage0(cache: R.Any, z: R.Tensor(("n", 4), dtype="float32"), x: R.Tensor(("n", 4), dtype="float32"), s: R.Shape([]), packed_params: R.Any) -> R.Tuple(R.Tensor(("n", 4), dtype="float32")):
        n = T.int64()
        R.func_attr({"num_input": 4})
        with R.dataflow():
            k: R.Tensor((n, 4), dtype="float32") = R.call_pure_packed("attention", cache, z, ty_args=(R.Tensor((n, 4), dtype="float32"),))
            a: R.Tensor((n, 4), dtype="float32") = R.add(k, x)
            R.output(a)
        _: R.Tuple = R.call_packed("runtime.disco.send_to_next_group", a, ty_args=(R.Tuple,))
        return (a,)

    @R.function(private=True, pure=False)
    def prefill_stage1(cache: R.Any, y: R.Tensor(("n", 4), dtype="float32"), x: R.Tensor(("n", 4), dtype="float32"), s: R.Shape([]), packed_params: R.Any) -> R.Tuple(R.Tensor(("n", 4), dtype="float32"), R.Any):
        n = T.int64()
        R.func_attr({"num_input": 4})
        with R.dataflow():
            b = R.call_dps_packed("runtime.disco.recv_from_prev_group", R.tuple(), out_ty=R.Tensor((n, 4), dtype="float32"))
            l: R.Tensor((n, 4), dtype="float32") = R.call_pure_packed("attention", cache, b, ty_args=(R.Tensor((n, 4), dtype="float32"),))
            c: R.Tensor((n, 4), dtype="float32") = R.add(l, y)
            d: R.Tensor((n, 4), dtype="float32") = R.add(c, x)
            gv: R.Tuple(R.Tensor((n, 4), dtype="float32"), R.Any) = (d, cache)
            R.output(gv)
        return gv
