# SPDX-License-Identifier: Apache-2.0
# passes: DeadCodeElimination{entry_functions=["kept"]}
# Public functions, those that the option names and what they reach stay, tensor programs too.
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def used(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i]

    @T.prim_func(private=True)
    def unused(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i]

    @R.function(private=True)
    def kept(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.call_tir(Before.used, (x,), out_ty=R.Tensor((4,), "float32"))

    @R.function(private=True)
    def gone(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.call_tir(Before.unused, (x,), out_ty=R.Tensor((4,), "float32"))

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = Before.gone(x)
        return x
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True)
    def used(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i]

    @R.function(private=True)
    def kept(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        gv = R.call_tir(cls.used, (x,), out_ty=R.Tensor((4,), dtype="float32"))
        return gv

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        return x
