# SPDX-License-Identifier: Apache-2.0
# The output is allocated, passed last, and bound to the variable of the call.
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Before
        y: R.Tensor((4,), dtype="float32") = R.call_tir(cls.twice, (x,), out_ty=R.Tensor((4,), dtype="float32"))
        z: R.Tensor((4,), dtype="float32") = R.call_dps_packed("helper", (y, x), out_ty=R.Tensor((4,), dtype="float32"))
        return z


# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True)
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2.0)

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        alloc: R.Tensor((4,), dtype="float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _: R.Tuple = cls.twice(x, alloc)
        y: R.Tensor((4,), dtype="float32") = alloc
        alloc_1: R.Tensor((4,), dtype="float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        __1: R.Tuple = R.call_packed("helper", y, x, alloc_1, ty_args=(R.Tuple,))
        z: R.Tensor((4,), dtype="float32") = alloc_1
        return z
