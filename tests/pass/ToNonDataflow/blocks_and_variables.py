# SPDX-License-Identifier: Apache-2.0
# Dataflow blocks and variables become ordinary ones; blocks stay apart.
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Before
        with R.dataflow():
            a = R.call_tir(cls.twice, (x,), out_ty=R.Tensor((4,), dtype="float32"))
            b = R.call_tir(cls.twice, (a,), out_ty=R.Tensor((4,), dtype="float32"))
            R.output(b)
        with R.dataflow():
            c = R.call_tir(cls.twice, (b,), out_ty=R.Tensor((4,), dtype="float32"))
            d = R.call_tir(cls.twice, (c,), out_ty=R.Tensor((4,), dtype="float32"))
            R.output(d)
        return d


# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True)
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2.0)

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        a = R.call_tir(cls.twice, (x,), out_ty=R.Tensor((4,), dtype="float32"))
        b = R.call_tir(cls.twice, (a,), out_ty=R.Tensor((4,), dtype="float32"))
        c = R.call_tir(cls.twice, (b,), out_ty=R.Tensor((4,), dtype="float32"))
        d = R.call_tir(cls.twice, (c,), out_ty=R.Tensor((4,), dtype="float32"))
        return d
