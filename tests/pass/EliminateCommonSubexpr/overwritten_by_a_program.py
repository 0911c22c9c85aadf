# SPDX-License-Identifier: Apache-2.0
# Tensor programs that are called directly write into arguments; what they only read is merged.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def bump(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("bump"):
                vi = T.axis.spatial(T.int64(4), i)
                x[vi] = x[vi] + y[vi]

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        R.func_attr({"relax.force_pure": True})
        cls = Before
        a = R.exp(x)
        b = R.negative(x)
        _: R.Tuple = cls.bump(a, b)
        c = R.exp(x)
        d = R.negative(x)
        e = R.add(c, d)
        return (a, e)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def bump(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        # with T.sblock("root"):
        for i in range(T.int64(4)):
            with T.sblock("bump"):
                vi = T.axis.remap("S", [i])
                T.reads(x[vi], y[vi])
                T.writes(x[vi])
                x[vi] = x[vi] + y[vi]

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")):
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        a: R.Tensor((4,), dtype="float32") = R.exp(x)
        b: R.Tensor((4,), dtype="float32") = R.negative(x)
        _: R.Tuple = cls.bump(a, b)
        c: R.Tensor((4,), dtype="float32") = R.exp(x)
        d: R.Tensor((4,), dtype="float32") = b
        e: R.Tensor((4,), dtype="float32") = R.add(c, b)
        return (a, e)
