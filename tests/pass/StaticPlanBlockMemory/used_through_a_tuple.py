# SPDX-License-Identifier: Apache-2.0
# A tensor lives as long as a field of a tuple that holds it is used, also in a tuple within.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def double(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("B"):
                v = T.axis.remap("S", [i])
                B[v] = A[v] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        R.func_attr({"relax.force_pure": True})
        cls = Before
        a = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _: R.Tuple = cls.double(x, a)
        t = (x, (a, x))
        b = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _1: R.Tuple = cls.double(x, b)
        c = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _2: R.Tuple = cls.double(b, c)
        d = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _3: R.Tuple = cls.double(c, d)
        u = t[1]
        v = u[0]
        e = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _4: R.Tuple = cls.double(v, e)
        f = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _5: R.Tuple = cls.double(d, f)
        g = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _6: R.Tuple = cls.double(e, g)
        return (f, g)
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

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")):
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        storage: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        a: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _: R.Tuple = cls.double(x, a)
        t: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32"))) = (x, (a, x))
        storage_1: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        b: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage_1, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _1: R.Tuple = cls.double(x, b)
        storage_2: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        c: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage_2, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _2: R.Tuple = cls.double(b, c)
        d: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage_1, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _3: R.Tuple = cls.double(c, d)
        u: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")) = t[1]
        v: R.Tensor((4,), dtype="float32") = u[0]
        e: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage_2, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _4: R.Tuple = cls.double(v, e)
        f: R.Tensor((4,), dtype="float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _5: R.Tuple = cls.double(d, f)
        g: R.Tensor((4,), dtype="float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _6: R.Tuple = cls.double(e, g)
        return (f, g)
