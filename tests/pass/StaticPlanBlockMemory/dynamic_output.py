# SPDX-License-Identifier: Apache-2.0
# A dynamic output gets storage of its own when the function asks for it, of the bound's size where there is one; other sizes count by bounds inside of their expressions.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def work(var_x: T.handle, var_w: T.handle, var_y: T.handle):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor(("n", "m"), dtype="float32")) -> R.Tensor(("n", "m"), dtype="float32"):
        n = T.int64()
        m = T.int64()
        R.func_attr({"relax.force_pure": True, "relax.memory_plan_dynamic_func_output": 1, "tir_var_upper_bound": {"n": 8}})
        cls = Before
        w: R.Tensor((2 * n + 16,), dtype="uint8") = R.builtin.alloc_tensor(R.shape([2 * n + 16]), R.dtype("uint8"), R.prim_value(0), R.str("global"))
        alloc: R.Tensor((n, m), dtype="float32") = R.builtin.alloc_tensor(R.shape([n, m]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _: R.Tuple = cls.work(x, w, alloc)
        return alloc
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def work(var_x: T.handle, var_w: T.handle, var_y: T.handle):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor(("n", "m"), dtype="float32")) -> R.Tensor(("n", "m"), dtype="float32"):
        n = T.int64()
        m = T.int64()
        R.func_attr({"relax.force_pure": True, "tir_var_upper_bound": {"n": 8}})
        cls = Expected
        storage: R.Any = R.memory.alloc_storage(R.shape([32]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        w: R.Tensor((2 * n + 16,), dtype="uint8") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([2 * n + 16]), R.dtype("uint8"), R.prim_value(0))
        storage_1: R.Any = R.memory.alloc_storage(R.shape([8 * m * 4]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        alloc: R.Tensor((n, m), dtype="float32") = R.memory.alloc_tensor(storage_1, R.prim_value(0), R.shape([n, m]), R.dtype("float32"), R.prim_value(0))
        _: R.Tuple = cls.work(x, w, alloc)
        return alloc
