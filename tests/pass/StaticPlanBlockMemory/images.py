# SPDX-License-Identifier: Apache-2.0
# Images are memory of their own.
# passes: StaticPlanBlockMemory{mode=arena}
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def twice(x: T.Buffer((T.int64(40),), "float32"), y: T.Buffer((T.int64(40),), "float32")):
        for i in range(T.int64(40)):
            y[i] = x[i] * T.float32(2)

    @R.function(pure=False)
    def main(x: R.Tensor((40,), "float32")) -> R.Tensor((40,), "float32"):
        cls = Before
        a: R.Tensor((40,), "float32") = R.builtin.alloc_tensor(R.shape([40]), R.dtype("float32"), R.prim_value(0), R.str("global.texture-weight:5x2:float32"))
        _: R.Tuple = cls.twice(x, a)
        b: R.Tensor((40,), "float32") = R.builtin.alloc_tensor(R.shape([40]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _1: R.Tuple = cls.twice(a, b)
        c: R.Tensor((40,), "float32") = R.builtin.alloc_tensor(R.shape([40]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _2: R.Tuple = cls.twice(b, c)
        return c
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True)
    def twice(x: T.Buffer((T.int64(40),), "float32"), y: T.Buffer((T.int64(40),), "float32")):
        for i in range(T.int64(40)):
            y[i] = x[i] * T.float32(2.0)

    @R.function(pure=False)
    def main(x: R.Tensor((40,), dtype="float32")) -> R.Tensor((40,), dtype="float32"):
        cls = Expected
        a: R.Tensor((40,), dtype="float32") = R.builtin.alloc_tensor(R.shape([40]), R.dtype("float32"), R.prim_value(0), R.str("global.texture-weight:5x2:float32"))
        _: R.Tuple = cls.twice(x, a)
        storage: R.Any = R.memory.alloc_storage(R.shape([192]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        b: R.Tensor((40,), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([40]), R.dtype("float32"), R.prim_value(0))
        _1: R.Tuple = cls.twice(a, b)
        c: R.Tensor((40,), dtype="float32") = R.builtin.alloc_tensor(R.shape([40]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _2: R.Tuple = cls.twice(b, c)
        return c
