# SPDX-License-Identifier: Apache-2.0
# An allocation becomes a storage of bytes and a tensor in it; symbolic extents stay symbolic.
@I.ir_module
class Before:
    @R.function(pure=False)
    def main(x: R.Tensor(("n", 3), dtype="float16")) -> R.Tensor(("n", 3), dtype="float16"):
        n = T.int64()
        a: R.Tensor((n, 3), dtype="float16") = R.builtin.alloc_tensor(R.shape([n, 3]), R.dtype("float16"), R.prim_value(0), R.str("global"))
        return a


# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(pure=False)
    def main(x: R.Tensor(("n", 3), dtype="float16")) -> R.Tensor(("n", 3), dtype="float16"):
        n = T.int64()
        storage: R.Any = R.memory.alloc_storage(R.shape([n * 6]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        a: R.Tensor((n, 3), dtype="float16") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([n, 3]), R.dtype("float16"), R.prim_value(0))
        return a
