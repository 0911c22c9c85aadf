# SPDX-License-Identifier: Apache-2.0
# Two outputs become a tuple of allocations; a scalar argument keeps its place.
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def split(x: T.Buffer((T.int64(4),), "float32"), k: T.int64, y: T.Buffer((T.int64(4),), "float32"), z: T.Buffer((T.int64(4),), "int32")):
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2)
            z[i] = T.Cast("int32", x[i]) + T.Cast("int32", k)

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="int32"):
        R.func_attr({"relax.force_pure": True})
        cls = Before
        y: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="int32")) = R.call_tir(cls.split, (x, R.prim_value(5)), out_ty=[R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="int32")])
        z: R.Tensor((4,), dtype="int32") = y[1]
        return z


# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True)
    def split(x: T.Buffer((T.int64(4),), "float32"), k: T.int64, y: T.Buffer((T.int64(4),), "float32"), z: T.Buffer((T.int64(4),), "int32")):
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2.0)
            z[i] = T.Cast("int32", x[i]) + T.Cast("int32", k)

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="int32"):
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        alloc: R.Tensor((4,), dtype="float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        alloc_1: R.Tensor((4,), dtype="int32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("int32"), R.prim_value(0), R.str("global"))
        _: R.Tuple = cls.split(x, R.prim_value(5), alloc, alloc_1)
        y: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="int32")) = (alloc, alloc_1)
        z: R.Tensor((4,), dtype="int32") = y[1]
        return z
