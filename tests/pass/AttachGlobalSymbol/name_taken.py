# SPDX-License-Identifier: Apache-2.0
# A graph function keeps its name: no program may come to have it.
# error: tensor program 'f' becomes 'a_f'
# at: 10
@I.ir_module
class Before:
    I.module_attrs({"system_lib_prefix": "a_"})

    @T.prim_func(private=True)
    def f(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] + T.float32(1)

    @R.function
    def a_f(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Before
        a = R.call_tir(cls.f, (x,), out_ty=R.Tensor((4,), "float32"))
        return a
