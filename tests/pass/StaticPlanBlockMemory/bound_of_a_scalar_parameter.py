# SPDX-License-Identifier: Apache-2.0
# passes: StaticPlanBlockMemory{mode=arena}
# An extent that is a parameter itself has an upper bound as well.
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def double(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,))
        B = T.match_buffer(b, (n,))
        for i in range(n):
            with T.sblock("B"):
                v = T.axis.spatial(n, i)
                B[v] = A[v] * T.float32(2)
    @R.function
    def main(n: R.Prim("int64"), x: R.Tensor(("n",), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):
        R.func_attr({"relax.force_pure": True, "tir_var_upper_bound": {"n": 100}})
        cls = Before
        a: R.Tensor((n,), dtype="float32") = R.builtin.alloc_tensor(R.shape([n]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _: R.Tuple = cls.double(x, a)
        b: R.Tensor((n,), dtype="float32") = R.builtin.alloc_tensor(R.shape([n]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _1: R.Tuple = cls.double(a, b)
        return b
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def double(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,))
        B = T.match_buffer(b, (n,))
        # with T.sblock("root"):
        for i in range(n):
            with T.sblock("B"):
                v = T.axis.remap("S", [i])
                T.reads(A[v])
                T.writes(B[v])
                B[v] = A[v] * T.float32(2.0)

    @R.function
    def main(n: R.Prim("int64"), x: R.Tensor(("n",), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):
        R.func_attr({"relax.force_pure": True, "tir_var_upper_bound": {"n": 100}})
        cls = Expected
        storage: R.Any = R.memory.alloc_storage(R.shape([448]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        a: R.Tensor((n,), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([n]), R.dtype("float32"), R.prim_value(0))
        _: R.Tuple = cls.double(x, a)
        b: R.Tensor((n,), dtype="float32") = R.builtin.alloc_tensor(R.shape([n]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _1: R.Tuple = cls.double(a, b)
        return b
