# SPDX-License-Identifier: Apache-2.0
# An extent with a bound counts with it, one without stays symbolic.
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def twice(px: T.handle, py: T.handle):
        n = T.int64()
        m = T.int64()
        x = T.match_buffer(px, (n, m), "float32")
        y = T.match_buffer(py, (n, m), "float32")
        for i, j in T.grid(n, m):
            y[i, j] = x[i, j] * T.float32(2)

    @R.function
    def main(x: R.Tensor(("n", "m"), dtype="float32")) -> R.Tensor(("n", "m"), dtype="float32"):
        R.func_attr({"relax.force_pure": True, "tir_var_upper_bound": {"n": 8}})
        n = T.int64()
        m = T.int64()
        cls = Before
        a: R.Tensor((n, m), dtype="float32") = R.builtin.alloc_tensor(R.shape([n, m]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _: R.Tuple = cls.twice(x, a)
        b: R.Tensor((n, m), dtype="float32") = R.builtin.alloc_tensor(R.shape([n, m]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _1: R.Tuple = cls.twice(a, b)
        return b


# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True)
    def twice(px: T.handle, py: T.handle):
        n = T.int64()
        m = T.int64()
        x = T.match_buffer(px, (n, m))
        y = T.match_buffer(py, (n, m))
        for i, j in T.grid(n, m):
            y[i, j] = x[i, j] * T.float32(2.0)

    @R.function
    def main(x: R.Tensor(("n", "m"), dtype="float32")) -> R.Tensor(("n", "m"), dtype="float32"):
        n = T.int64()
        m = T.int64()
        R.func_attr({"relax.force_pure": True, "tir_var_upper_bound": {"n": 8}})
        cls = Expected
        storage: R.Any = R.memory.alloc_storage(R.shape([32 * m]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        a: R.Tensor((n, m), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([n, m]), R.dtype("float32"), R.prim_value(0))
        _: R.Tuple = cls.twice(x, a)
        b: R.Tensor((n, m), dtype="float32") = R.builtin.alloc_tensor(R.shape([n, m]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _1: R.Tuple = cls.twice(a, b)
        return b
