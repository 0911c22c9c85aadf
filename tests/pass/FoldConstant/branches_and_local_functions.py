# SPDX-License-Identifier: Apache-2.0
# Branches of an If and local functions are entered, with what is known outside of them; a branch may give a constant.
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def double(A: T.Buffer((T.int64(2),), "float32"), B: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            with T.sblock("B"):
                v = T.axis.spatial(T.int64(2), i)
                B[v] = A[v] * T.float32(2)
    @R.function
    def main(x: R.Tensor((2,), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")):
        cls = Before
        k = R.call_tir(cls.double, (R.const([1, 2], "float32"),), out_ty=R.Tensor((2,), dtype="float32"))
        if c:
            a = R.call_tir(cls.double, (k,), out_ty=R.Tensor((2,), dtype="float32"))
            b = R.add(x, a)
            z = b
        else:
            d = R.call_tir(cls.double, (k,), out_ty=R.Tensor((2,), dtype="float32"))
            e = R.call_tir(cls.double, (d,), out_ty=R.Tensor((2,), dtype="float32"))
            z = e
        @R.function
        def inner(y: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
            s = R.call_tir(cls.double, (k,), out_ty=R.Tensor((2,), dtype="float32"))
            unused = R.add(y, y)
            t = R.add(y, s)
            return t
        w: R.Tensor((2,), dtype="float32") = inner(z)
        return (z, w)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def double(A: T.Buffer((T.int64(2),), "float32"), B: T.Buffer((T.int64(2),), "float32")):
        # with T.sblock("root"):
        for i in range(T.int64(2)):
            with T.sblock("B"):
                v = T.axis.remap("S", [i])
                T.reads(A[v])
                T.writes(B[v])
                B[v] = A[v] * T.float32(2.0)

    @R.function
    def main(x: R.Tensor((2,), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")):
        if c:
            b: R.Tensor((2,), dtype="float32") = R.add(x, R.const([4.0, 8.0], "float32"))
            z: R.Tensor((2,), dtype="float32") = b
        else:
            z: R.Tensor((2,), dtype="float32") = R.const([8.0, 16.0], "float32")
        @R.function
        def inner(y: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
            t: R.Tensor((2,), dtype="float32") = R.add(y, R.const([4.0, 8.0], "float32"))
            return t
        w: R.Tensor((2,), dtype="float32") = inner(z)
        return (z, w)
