# SPDX-License-Identifier: Apache-2.0
# A value that a boundary names twice is sent twice; a value received may be handed on at once.
@I.ir_module
class Before:
    @R.function
    def prefill(x: R.Tensor(("n", 4), dtype="float32"), packed_params: R.Tuple(R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"))):
        n = T.int64()
        R.func_attr({"num_input": 1, "pipeline_parallel_stages": 3})
        with R.dataflow():
            a = R.nn.relu(x)
            t: R.Tuple(R.Tensor((n, 4), dtype="float32"), R.Tensor((n, 4), dtype="float32")) = R.call_pure_packed("mlc.pipeline_parallel_stage_boundary", a, a, ty_args=(R.Tuple(R.Tensor((n, 4), dtype="float32"), R.Tensor((n, 4), dtype="float32")),))
            p = t[0]
            q = t[1]
            b = R.add(p, q)
            u: R.Tuple(R.Tensor((n, 4), dtype="float32"), R.Tensor((n, 4), dtype="float32")) = R.call_pure_packed("mlc.pipeline_parallel_stage_boundary", b, p, ty_args=(R.Tuple(R.Tensor((n, 4), dtype="float32"), R.Tensor((n, 4), dtype="float32")),))
            r = u[0]
            s1 = u[1]
            c = R.add(r, s1)
            R.output(c)
        return c
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
    def prefill_stage0(x: R.Tensor(("n", 4), dtype="float32"), s: R.Shape([]), packed_params: R.Any) -> R.Tuple(R.Tensor(("n", 4), dtype="float32"), R.Tensor(("n", 4), dtype="float32")):
        n = T.int64()
        R.func_attr({"num_input": 2})
        with R.dataflow():
            a: R.Tensor((n, 4), dtype="float32") = R.nn.relu(x)
            R.output(a)
        _: R.Tuple = R.call_packed("runtime.disco.send_to_next_group", a, ty_args=(R.Tuple,))
        __1: R.Tuple = R.call_packed("runtime.disco.send_to_next_group", a, ty_args=(R.Tuple,))
        return (a, a)

    @R.function(private=True, pure=False)
    def prefill_stage1(s: R.Shape(["n"]), packed_params: R.Any) -> R.Tuple(R.Tensor(("n", 4), dtype="float32"), R.Tensor(("n", 4), dtype="float32")):
        n = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            p = R.call_dps_packed("runtime.disco.recv_from_prev_group", R.tuple(), out_ty=R.Tensor((n, 4), dtype="float32"))
            q = R.call_dps_packed("runtime.disco.recv_from_prev_group", R.tuple(), out_ty=R.Tensor((n, 4), dtype="float32"))
            b: R.Tensor((n, 4), dtype="float32") = R.add(p, p)
            R.output(p, q, b)
        _: R.Tuple = R.call_packed("runtime.disco.send_to_next_group", b, ty_args=(R.Tuple,))
        __1: R.Tuple = R.call_packed("runtime.disco.send_to_next_group", p, ty_args=(R.Tuple,))
        return (b, p)

    @R.function(private=True, pure=False)
    def prefill_stage2(s: R.Shape(["n"]), packed_params: R.Any) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"num_input": 1})
        with R.dataflow():
            r = R.call_dps_packed("runtime.disco.recv_from_prev_group", R.tuple(), out_ty=R.Tensor((n, 4), dtype="float32"))
            s1 = R.call_dps_packed("runtime.disco.recv_from_prev_group", R.tuple(), out_ty=R.Tensor((n, 4), dtype="float32"))
            c: R.Tensor((n, 4), dtype="float32") = R.add(r, s1)
            R.output(c)
        return c
