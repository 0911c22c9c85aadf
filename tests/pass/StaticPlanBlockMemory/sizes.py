# SPDX-License-Identifier: Apache-2.0
# A storage serves what is up to 16 times smaller, and grows for what is up to 16 times larger; other dtypes have their own.
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def fill4(x: T.Buffer((T.int64(4),), "float32")):
        x[0] = T.float32(0)

    @T.prim_func(private=True)
    def fill64(x: T.Buffer((T.int64(64),), "float32")):
        x[0] = T.float32(0)

    @T.prim_func(private=True)
    def fill68(x: T.Buffer((T.int64(68),), "float32")):
        x[0] = T.float32(0)

    @T.prim_func(private=True)
    def half4(x: T.Buffer((T.int64(4),), "float16")):
        x[0] = T.float16(0)

    @T.prim_func(private=True)
    def half72(x: T.Buffer((T.int64(72),), "float16")):
        x[0] = T.float16(0)

    @R.function
    def main() -> R.Tuple():
        R.func_attr({"relax.force_pure": True})
        cls = Before
        a = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _0: R.Tuple = cls.fill4(a)
        b = R.builtin.alloc_tensor(R.shape([64]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _1: R.Tuple = cls.fill64(b)
        c = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _2: R.Tuple = cls.fill4(c)
        d = R.builtin.alloc_tensor(R.shape([68]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _3: R.Tuple = cls.fill68(d)
        e = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _4: R.Tuple = cls.fill4(e)
        f = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float16"), R.prim_value(0), R.str("global"))
        _5: R.Tuple = cls.half4(f)
        g = R.builtin.alloc_tensor(R.shape([72]), R.dtype("float16"), R.prim_value(0), R.str("global"))
        _6: R.Tuple = cls.half72(g)
        return R.tuple()
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True)
    def fill4(x: T.Buffer((T.int64(4),), "float32")):
        x[0] = T.float32(0.0)

    @T.prim_func(private=True)
    def fill64(x: T.Buffer((T.int64(64),), "float32")):
        x[0] = T.float32(0.0)

    @T.prim_func(private=True)
    def fill68(x: T.Buffer((T.int64(68),), "float32")):
        x[0] = T.float32(0.0)

    @T.prim_func(private=True)
    def half4(x: T.Buffer((T.int64(4),), "float16")):
        x[0] = T.float16(0.0)

    @T.prim_func(private=True)
    def half72(x: T.Buffer((T.int64(72),), "float16")):
        x[0] = T.float16(0.0)

    @R.function
    def main() -> R.Tuple:
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        storage: R.Any = R.memory.alloc_storage(R.shape([272]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        a: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _0: R.Tuple = cls.fill4(a)
        b: R.Tensor((64,), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([64]), R.dtype("float32"), R.prim_value(0))
        _1: R.Tuple = cls.fill64(b)
        c: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _2: R.Tuple = cls.fill4(c)
        d: R.Tensor((68,), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([68]), R.dtype("float32"), R.prim_value(0))
        _3: R.Tuple = cls.fill68(d)
        storage_1: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        e: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage_1, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _4: R.Tuple = cls.fill4(e)
        storage_2: R.Any = R.memory.alloc_storage(R.shape([8]), R.prim_value(0), R.str("global"), R.dtype("float16"))
        f: R.Tensor((4,), dtype="float16") = R.memory.alloc_tensor(storage_2, R.prim_value(0), R.shape([4]), R.dtype("float16"), R.prim_value(0))
        _5: R.Tuple = cls.half4(f)
        storage_3: R.Any = R.memory.alloc_storage(R.shape([144]), R.prim_value(0), R.str("global"), R.dtype("float16"))
        g: R.Tensor((72,), dtype="float16") = R.memory.alloc_tensor(storage_3, R.prim_value(0), R.shape([72]), R.dtype("float16"), R.prim_value(0))
        _6: R.Tuple = cls.half72(g)
        return R.tuple()
