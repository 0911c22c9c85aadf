# SPDX-License-Identifier: Apache-2.0
# A tuple keeps its fields: their own last use is the tuple, the tuple's is its last projection.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def double(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("B"):
                v = T.axis.remap("S", [i])
                B[v] = A[v] * T.float32(2)

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")):
        cls = Before
        storage: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        a: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _: R.Tuple = cls.double(x, a)
        t = (x, (a, x))
        storage1: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        b: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage1, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _1: R.Tuple = cls.double(x, b)
        u = t[1]
        v = u[0]
        storage2: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        c: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage2, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _2: R.Tuple = cls.double(v, c)
        storage3: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        d: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage3, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _3: R.Tuple = cls.double(b, d)
        return (c, d)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def double(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        # with T.sblock("root"):
        for i in range(T.int64(4)):
            with T.sblock("B"):
                v = T.axis.remap("S", [i])
                T.reads(A[v])
                T.writes(B[v])
                B[v] = A[v] * T.float32(2.0)

    @R.function(pure=False)
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")):
        cls = Expected
        storage: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        a: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        R.memory.kill_storage(storage)
        _: R.Tuple = cls.double(x, a)
        t: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32"))) = (x, (a, x))
        R.memory.kill_tensor(a)
        storage1: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        b: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage1, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        R.memory.kill_storage(storage1)
        _1: R.Tuple = cls.double(x, b)
        u: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")) = t[1]
        R.vm.kill_object(t)
        v: R.Tensor((4,), dtype="float32") = u[0]
        R.vm.kill_object(u)
        storage2: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        c: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage2, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        R.memory.kill_storage(storage2)
        _2: R.Tuple = cls.double(v, c)
        R.memory.kill_tensor(v)
        storage3: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        d: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage3, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        R.memory.kill_storage(storage3)
        _3: R.Tuple = cls.double(b, d)
        R.memory.kill_tensor(b)
        return (c, d)
