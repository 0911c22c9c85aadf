# SPDX-License-Identifier: Apache-2.0
# What a call overwrites is computed in every run; what it is computed of may be lifted.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def bump(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("bump"):
                vi = T.axis.spatial(T.int64(4), i)
                x[vi] = x[vi] + y[vi]

    @R.function
    def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"num_input": 1})
        cls = Before
        with R.dataflow():
            a = R.exp(w)
            b = R.negative(a)
            c = R.call_tir_inplace(cls.bump, (b, x), inplace_indices=[0], out_ty=R.Tensor((4,), "float32"))
            R.output(c)
        return c
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
    def main_transform_params(params: R.Tuple(R.Tensor((4,), dtype="float32"))) -> R.Tuple(R.Tensor((4,), dtype="float32")):
        R.func_attr({"num_input": 0})
        with R.dataflow():
            lv: R.Tensor((4,), dtype="float32") = params[0]
            a: R.Tensor((4,), dtype="float32") = R.exp(lv)
            gv: R.Tuple(R.Tensor((4,), dtype="float32")) = (a,)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), a: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"num_input": 1})
        cls = Expected
        with R.dataflow():
            b: R.Tensor((4,), dtype="float32") = R.negative(a)
            c: R.Tensor((4,), dtype="float32") = R.call_tir_inplace(cls.bump, (b, x), inplace_indices=[0], out_ty=R.Tensor((4,), dtype="float32"))
            R.output(c)
        return c
