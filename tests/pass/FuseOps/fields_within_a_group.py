# SPDX-License-Identifier: Apache-2.0
# A tuple made within the group and a field of it: the field is taken inside, and is no parameter.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def add(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32"), z: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"op_pattern": 0})
        for i in range(T.int64(4)):
            with T.sblock("add"):
                vi = T.axis.spatial(4, i)
                z[vi] = x[vi] + y[vi]

    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Before
        with R.dataflow():
            a = R.call_tir(cls.add, (x, y), out_ty=R.Tensor((4,), "float32"))
            t = (a, y)
            b = t[0]
            c = t[1]
            gv = R.call_tir(cls.add, (b, c), out_ty=R.Tensor((4,), "float32"))
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def add(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32"), z: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"op_pattern": 0})
        # with T.sblock("root"):
        for i in range(T.int64(4)):
            with T.sblock("add"):
                vi = T.axis.spatial(4, i)
                T.reads(x[vi], y[vi])
                T.writes(z[vi])
                z[vi] = x[vi] + y[vi]

    @R.function(private=True)
    def fused_add(a: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Primitive": True})
        cls = Expected
        with R.dataflow():
            t: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")) = (a, y)
            b: R.Tensor((4,), dtype="float32") = t[0]
            c: R.Tensor((4,), dtype="float32") = t[1]
            gv = R.call_tir(cls.add, (b, c), out_ty=R.Tensor((4,), dtype="float32"))
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            a = R.call_tir(cls.add, (x, y), out_ty=R.Tensor((4,), dtype="float32"))
            gv: R.Tensor((4,), dtype="float32") = cls.fused_add(a, y)
            R.output(gv)
        return gv
