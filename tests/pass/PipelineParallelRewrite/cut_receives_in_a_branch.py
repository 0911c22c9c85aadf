# SPDX-License-Identifier: Apache-2.0
# A message that depends on a condition cannot be matched.
# error: 'f_stage1' receives inside a branch or an inner function
# at: 25
@I.ir_module
class Before:
    @R.function(pure=False)
    def f(x: R.Tensor(("n", 4), dtype="float32"), c: R.Tensor((), dtype="bool"), packed_params: R.Object) -> R.Object:
        n = T.int64()
        cls = Before
        out: R.Object = R.call_builtin_with_ctx("mlc.multi_gpu.DispatchFunctionByGroup", (((cls.f_stage0, x, R.shape([]), packed_params), (cls.f_stage1, c, R.shape([n]), packed_params)),), ty_args=(R.Object,))
        return out

    @R.function(private=True, pure=False)
    def f_stage0(x: R.Tensor(("n", 4), dtype="float32"), s: R.Shape([]), packed_params: R.Object) -> R.Object:
        n = T.int64()
        a = R.nn.relu(x)
        _ = R.call_packed("runtime.disco.send_to_next_group", a, ty_args=(R.Tuple,))
        return a

    @R.function(private=True, pure=False)
    def f_stage1(c: R.Tensor((), dtype="bool"), s: R.Shape(["n"]), packed_params: R.Object) -> R.Object:
        n = T.int64()
        if c:
            p = R.call_dps_packed("runtime.disco.recv_from_prev_group", R.tuple(), out_ty=R.Tensor((n, 4), dtype="float32"))
            r = p
        else:
            q = R.zeros(R.shape([n, 4]), "float32")
            r = q
        return r
