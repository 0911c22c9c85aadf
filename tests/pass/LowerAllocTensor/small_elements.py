# SPDX-License-Identifier: Apache-2.0
# An element takes whole bytes, also one of a single bit; extents may be symbolic.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n", 3), "bool"):
        n = T.int64()
        R.func_attr({"relax.force_pure": True})
        a = R.builtin.alloc_tensor(R.shape([n, 3]), R.dtype("bool"), R.prim_value(0), R.str("global"))
        b = R.builtin.alloc_tensor(R.shape([5]), R.dtype("float16x4"), R.prim_value(0), R.str("global"))
        return a
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(("n",), dtype="float32")) -> R.Tensor(("n", 3), dtype="bool"):
        n = T.int64()
        R.func_attr({"relax.force_pure": True})
        storage: R.Any = R.memory.alloc_storage(R.shape([n * 3]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        a: R.Tensor((n, 3), dtype="bool") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([n, 3]), R.dtype("bool"), R.prim_value(0))
        storage_1: R.Any = R.memory.alloc_storage(R.shape([40]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        b: R.Tensor((5,), dtype="float16x4") = R.memory.alloc_tensor(storage_1, R.prim_value(0), R.shape([5]), R.dtype("float16x4"), R.prim_value(0))
        return a
