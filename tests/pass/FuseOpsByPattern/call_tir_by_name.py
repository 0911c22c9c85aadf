# SPDX-License-Identifier: Apache-2.0
# Tensor programs are matched by name; names made from one stem too.
# passes: FuseOpsByPattern{patterns=["a.f := nn.relu(call_tir(\"double*\", x))"]}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Before
        with R.dataflow():
            lv = R.call_tir(cls.double1, (x,), out_ty=R.Tensor((4,), dtype="float32"))
            gv = R.nn.relu(lv)
            R.output(gv)
        return gv

    @T.prim_func(private=True, s_tir=True)
    def double1(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("double"):
                vi = T.axis.spatial(T.int64(4), i)
                y[vi] = x[vi] * T.float32(2)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def double1(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        # with T.sblock("root"):
        for i in range(T.int64(4)):
            with T.sblock("double"):
                vi = T.axis.remap("S", [i])
                T.reads(x[vi])
                T.writes(y[vi])
                y[vi] = x[vi] * T.float32(2.0)

    @R.function(private=True)
    def fused_double1_relax_nn_relu(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Composite": "a.f", "Primitive": True})
        cls = Expected
        with R.dataflow():
            lv = R.call_tir(cls.double1, (x,), out_ty=R.Tensor((4,), dtype="float32"))
            gv: R.Tensor((4,), dtype="float32") = R.nn.relu(lv)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            gv: R.Tensor((4,), dtype="float32") = cls.fused_double1_relax_nn_relu(x)
            R.output(gv)
        return gv
