# SPDX-License-Identifier: Apache-2.0
# Another rank.
# error: message 0 is received by 'f_stage1' as
# at: 25
# note: sends it at
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
        _ = R.call_packed("runtime.disco.send_to_next_group", a, ty_args=(R.Tuple,))
        return a

    @R.function(private=True, pure=False)
    def f_stage1(s: R.Shape(["n"]), packed_params: R.Object) -> R.Object:
        n = T.int64()
        p = R.call_dps_packed("runtime.disco.recv_from_prev_group", R.tuple(), out_ty=R.Tensor((n,), dtype="float32"))
        return p
