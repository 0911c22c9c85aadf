# SPDX-License-Identifier: Apache-2.0
# Equal values that calls overwrite stay two; a third one is not taken from them.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def bump(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("bump"):
                vi = T.axis.spatial(T.int64(4), i)
                x[vi] = x[vi] + y[vi]

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        cls = Before
        with R.dataflow():
            a = R.exp(x)
            b = R.exp(x)
            renamed = b
            c = R.call_tir_inplace(cls.bump, (a, x), inplace_indices=[0], out_ty=R.Tensor((4,), "float32"))
            d = R.call_tir_inplace(cls.bump, (renamed, x), inplace_indices=[0], out_ty=R.Tensor((4,), "float32"))
            e = R.exp(x)
            f = R.exp(x)
            g = R.add(e, f)
            R.output(c, d, g)
        return (c, d, g)
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
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")):
        cls = Expected
        with R.dataflow():
            a: R.Tensor((4,), dtype="float32") = R.exp(x)
            b: R.Tensor((4,), dtype="float32") = R.exp(x)
            renamed: R.Tensor((4,), dtype="float32") = b
            c: R.Tensor((4,), dtype="float32") = R.call_tir_inplace(cls.bump, (a, x), inplace_indices=[0], out_ty=R.Tensor((4,), dtype="float32"))
            d: R.Tensor((4,), dtype="float32") = R.call_tir_inplace(cls.bump, (renamed, x), inplace_indices=[0], out_ty=R.Tensor((4,), dtype="float32"))
            e: R.Tensor((4,), dtype="float32") = R.exp(x)
            f: R.Tensor((4,), dtype="float32") = e
            g: R.Tensor((4,), dtype="float32") = R.add(e, e)
            R.output(c, d, g)
        return (c, d, g)
