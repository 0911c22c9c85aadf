# SPDX-License-Identifier: Apache-2.0
# What a call overwrites needs memory of its own in every run and does not become a constant.
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
        cls = Before
        with R.dataflow():
            a = R.zeros(R.shape([4]), dtype="float32")
            b = R.call_tir_inplace(cls.bump, (a, x), inplace_indices=[0], out_ty=R.Tensor((4,), "float32"))
            c = R.zeros(R.shape([4]), dtype="float32")
            d = R.add(c, x)
            R.output(b, d)
        return (b, d)
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
        cls = Expected
        with R.dataflow():
            a: R.Tensor((4,), dtype="float32") = R.zeros(R.shape([4]), dtype="float32")
            b: R.Tensor((4,), dtype="float32") = R.call_tir_inplace(cls.bump, (a, x), inplace_indices=[0], out_ty=R.Tensor((4,), dtype="float32"))
            d: R.Tensor((4,), dtype="float32") = R.add(R.const([0.0, 0.0, 0.0, 0.0], "float32"), x)
            R.output(b, d)
        return (b, d)
