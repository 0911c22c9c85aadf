# SPDX-License-Identifier: Apache-2.0
# An element of several lanes takes the bytes of all of them, in storage that is shared and in that of an output.
@I.ir_module
class Before:
    @R.function
    def shared(x: R.Tensor((4,), "float32")):
        R.func_attr({"relax.force_pure": True})
        a: R.Tensor((5,), dtype="float32x4") = R.builtin.alloc_tensor(R.shape([5]), R.dtype("float32x4"), R.prim_value(0), R.str("global"))
        _: R.Tuple = R.call_packed("f", a, ty_args=(R.Tuple,))
        b: R.Tensor((20,), dtype="float32") = R.builtin.alloc_tensor(R.shape([20]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _1: R.Tuple = R.call_packed("f", b, ty_args=(R.Tuple,))
        return x

    @R.function
    def output(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32x4"):
        n = T.int64()
        R.func_attr({"relax.force_pure": True, "relax.memory_plan_dynamic_func_output": 1})
        a: R.Tensor((n,), dtype="float32x4") = R.builtin.alloc_tensor(R.shape([n]), R.dtype("float32x4"), R.prim_value(0), R.str("global"))
        _: R.Tuple = R.call_packed("f", a, ty_args=(R.Tuple,))
        return a
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def output(x: R.Tensor(("n",), dtype="float32")) -> R.Tensor(("n",), dtype="float32x4"):
        n = T.int64()
        R.func_attr({"relax.force_pure": True})
        storage: R.Any = R.memory.alloc_storage(R.shape([n * 16]), R.prim_value(0), R.str("global"), R.dtype("float32x4"))
        a: R.Tensor((n,), dtype="float32x4") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([n]), R.dtype("float32x4"), R.prim_value(0))
        _: R.Tuple = R.call_packed("f", a, ty_args=(R.Tuple,))
        return a

    @R.function
    def shared(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"relax.force_pure": True})
        storage: R.Any = R.memory.alloc_storage(R.shape([80]), R.prim_value(0), R.str("global"), R.dtype("float32x4"))
        a: R.Tensor((5,), dtype="float32x4") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([5]), R.dtype("float32x4"), R.prim_value(0))
        _: R.Tuple = R.call_packed("f", a, ty_args=(R.Tuple,))
        storage_1: R.Any = R.memory.alloc_storage(R.shape([80]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        b: R.Tensor((20,), dtype="float32") = R.memory.alloc_tensor(storage_1, R.prim_value(0), R.shape([20]), R.dtype("float32"), R.prim_value(0))
        _1: R.Tuple = R.call_packed("f", b, ty_args=(R.Tuple,))
        return x
