# SPDX-License-Identifier: Apache-2.0
# A parameter whose extents are expressions needs their variables, from s; one whose extent is a scalar parameter needs that.
@I.ir_module
class Before:
    @R.function
    def prefill(x: R.Tensor(("n", 4), dtype="float32"), k: R.Prim("int64"), y: R.Tensor(("n * 2",), dtype="float32"), z: R.Tensor(("k",), dtype="float32"), packed_params: R.Tuple(R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"), R.Tensor((4, 4), dtype="float32"))):
        n = T.int64()
        R.func_attr({"num_input": 4, "pipeline_parallel_stages": 2})
        with R.dataflow():
            a = R.nn.relu(x)
            b: R.Tensor((n, 4), dtype="float32") = R.call_pure_packed("mlc.pipeline_parallel_stage_boundary", a, ty_args=(R.Tensor((n, 4), dtype="float32"),))
            c = R.exp(y)
            d = R.exp(z)
            gv = (c, d)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(pure=False)
    def prefill(x: R.Tensor(("n", 4), dtype="float32"), k: R.Prim("int64"), y: R.Tensor(("n * 2",), dtype="float32"), z: R.Tensor(("k",), dtype="float32"), packed_params: R.Any) -> R.Any:
        n = T.int64()
        cls = Expected
        gv: R.Any = R.call_builtin_with_ctx("mlc.multi_gpu.DispatchFunctionByGroup", (((cls.prefill_stage0, x, R.shape([]), packed_params), (cls.prefill_stage1, y, k, z, R.shape([n]), packed_params)),), ty_args=(R.Any,))
        return gv

    @R.function(private=True, pure=False)
    def prefill_stage0(x: R.Tensor(("n", 4), dtype="float32"), s: R.Shape([]), packed_params: R.Any) -> R.Tuple(R.Tensor(("n", 4), dtype="float32")):
        n = T.int64()
        R.func_attr({"num_input": 2})
        with R.dataflow():
            a: R.Tensor((n, 4), dtype="float32") = R.nn.relu(x)
            R.output(a)
        _: R.Tuple = R.call_packed("runtime.disco.send_to_next_group", a, ty_args=(R.Tuple,))
        return (a,)

    @R.function(private=True, pure=False)
    def prefill_stage1(y: R.Tensor(("n * 2",), dtype="float32"), k: R.Prim("int64"), z: R.Tensor(("k",), dtype="float32"), s: R.Shape(["n"]), packed_params: R.Any) -> R.Tuple(R.Tensor(("n * 2",), dtype="float32"), R.Tensor(("k",), dtype="float32")):
        n = T.int64()
        R.func_attr({"num_input": 4})
        with R.dataflow():
            b = R.call_dps_packed("runtime.disco.recv_from_prev_group", R.tuple(), out_ty=R.Tensor((n, 4), dtype="float32"))
            c: R.Tensor((n * 2,), dtype="float32") = R.exp(y)
            d: R.Tensor((k,), dtype="float32") = R.exp(z)
            gv: R.Tuple(R.Tensor((n * 2,), dtype="float32"), R.Tensor((k,), dtype="float32")) = (c, d)
            R.output(gv)
        return gv
