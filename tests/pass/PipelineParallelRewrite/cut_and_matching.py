# SPDX-License-Identifier: Apache-2.0
# A module that was cut before stays as it is when its stages match.
@I.ir_module
class Before:
    @R.function(pure=False)
    def f(x: R.Tensor(("n", 4), dtype="float32"), packed_params: R.Object) -> R.Object:
        n = T.int64()
        cls = Before
        out: R.Object = R.call_builtin_with_ctx("mlc.multi_gpu.DispatchFunctionByGroup", (((cls.f_stage0, x, R.shape([]), packed_params), (cls.f_stage1, R.shape([n]), packed_params)),), ty_args=(R.Object,))
        return out

    @R.function(private=True, pure=False)
    def f_stage0(x: R.Tensor(("n", 4), dtype="float32"), s: R.Shape([]), packed_params: R.Object) -> R.Object:
        n = T.int64()
        a = R.nn.relu(x)
        b = R.exp(a)
        _ = R.call_packed("runtime.disco.send_to_next_group", a, ty_args=(R.Tuple,))
        _ = R.call_packed("runtime.disco.send_to_next_group", b, ty_args=(R.Tuple,))
        return a

    @R.function(private=True, pure=False)
    def f_stage1(s: R.Shape(["n"]), packed_params: R.Object) -> R.Object:
        n = T.int64()
        p = R.call_dps_packed("runtime.disco.recv_from_prev_group", R.tuple(), out_ty=R.Tensor((n, 4), dtype="float32"))
        q = R.call_dps_packed("runtime.disco.recv_from_prev_group", R.tuple(), out_ty=R.Tensor((n, 4), dtype="float32"))
        c = R.add(p, q)
        return c
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(pure=False)
    def f(x: R.Tensor(("n", 4), dtype="float32"), packed_params: R.Any) -> R.Any:
        n = T.int64()
        cls = Expected
        out: R.Any = R.call_builtin_with_ctx("mlc.multi_gpu.DispatchFunctionByGroup", (((cls.f_stage0, x, R.shape([]), packed_params), (cls.f_stage1, R.shape([n]), packed_params)),), ty_args=(R.Any,))
        return out

    @R.function(private=True, pure=False)
    def f_stage0(x: R.Tensor(("n", 4), dtype="float32"), s: R.Shape([]), packed_params: R.Any) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        a: R.Tensor((n, 4), dtype="float32") = R.nn.relu(x)
        b: R.Tensor((n, 4), dtype="float32") = R.exp(a)
        _: R.Tuple = R.call_packed("runtime.disco.send_to_next_group", a, ty_args=(R.Tuple,))
        __1: R.Tuple = R.call_packed("runtime.disco.send_to_next_group", b, ty_args=(R.Tuple,))
        return a

    @R.function(private=True, pure=False)
    def f_stage1(s: R.Shape(["n"]), packed_params: R.Any) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        p = R.call_dps_packed("runtime.disco.recv_from_prev_group", R.tuple(), out_ty=R.Tensor((n, 4), dtype="float32"))
        q = R.call_dps_packed("runtime.disco.recv_from_prev_group", R.tuple(), out_ty=R.Tensor((n, 4), dtype="float32"))
        c: R.Tensor((n, 4), dtype="float32") = R.add(p, q)
        return c
