# SPDX-License-Identifier: Apache-2.0
# A tensor program over constants is evaluated; what only it used is gone; a program over an input stays.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def add(x: T.Buffer((T.int64(3),), "float32"), y: T.Buffer((T.int64(3),), "float32"), z: T.Buffer((T.int64(3),), "float32")):
        for i in range(T.int64(3)):
            with T.sblock("add"):
                vi = T.axis.spatial(T.int64(3), i)
                z[vi] = x[vi] + y[vi]

    @R.function
    def main(x: R.Tensor((3,), dtype="float32")) -> R.Tensor((3,), dtype="float32"):
        cls = Before
        with R.dataflow():
            lv = R.call_tir(cls.add, (R.const([1.0, 2.0, 3.0], "float32"), R.const([10.0, 20.0, 30.0], "float32")), out_ty=R.Tensor((3,), dtype="float32"))
            lv1 = R.call_tir(cls.add, (lv, R.const([100.0, 200.0, 300.0], "float32")), out_ty=R.Tensor((3,), dtype="float32"))
            gv = R.call_tir(cls.add, (x, lv1), out_ty=R.Tensor((3,), dtype="float32"))
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def add(x: T.Buffer((T.int64(3),), "float32"), y: T.Buffer((T.int64(3),), "float32"), z: T.Buffer((T.int64(3),), "float32")):
        # with T.sblock("root"):
        for i in range(T.int64(3)):
            with T.sblock("add"):
                vi = T.axis.remap("S", [i])
                T.reads(x[vi], y[vi])
                T.writes(z[vi])
                z[vi] = x[vi] + y[vi]

    @R.function
    def main(x: R.Tensor((3,), dtype="float32")) -> R.Tensor((3,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            gv = R.call_tir(cls.add, (x, R.const([111.0, 222.0, 333.0], "float32")), out_ty=R.Tensor((3,), dtype="float32"))
            R.output(gv)
        return gv
