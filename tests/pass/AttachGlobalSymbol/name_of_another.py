# SPDX-License-Identifier: Apache-2.0
# A program takes the name that another one gives up.
@I.ir_module
class Before:
    I.module_attrs({"system_lib_prefix": "a_"})

    @T.prim_func(private=True)
    def f(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] + T.float32(1)

    @T.prim_func(private=True)
    def a_f(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Before
        a = R.call_tir(cls.f, (x,), out_ty=R.Tensor((4,), "float32"))
        b = R.call_tir(cls.a_f, (a,), out_ty=R.Tensor((4,), "float32"))
        return b
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_attrs({"system_lib_prefix": "a_"})

    @T.prim_func
    def a_a_f(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2.0)

    @T.prim_func
    def a_f(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] + T.float32(1.0)

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        a = R.call_tir(cls.a_f, (x,), out_ty=R.Tensor((4,), dtype="float32"))
        b = R.call_tir(cls.a_a_f, (a,), out_ty=R.Tensor((4,), dtype="float32"))
        return b
