# SPDX-License-Identifier: Apache-2.0
# No group takes a call before a reader of what it overwrites; where there is no other reader it is fused.
# passes: LegalizeOps, AnnotateTIROpPattern, FuseOps
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def bump(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("bump"):
                vi = T.axis.spatial(T.int64(4), i)
                x[vi] = x[vi] + y[vi]

    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((), "float32")):
        cls = Before
        with R.dataflow():
            a = R.exp(x)
            b = R.exp(y)
            c = R.sum(a)
            d = R.call_tir_inplace(cls.bump, (a, b), inplace_indices=[0], out_ty=R.Tensor((4,), "float32"))
            R.output(c, d)
        return (d, c)

    @R.function
    def only_reader(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Before
        with R.dataflow():
            a = R.exp(x)
            b = R.exp(y)
            c = R.call_tir_inplace(cls.bump, (a, b), inplace_indices=[0], out_ty=R.Tensor((4,), "float32"))
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
        T.func_attr({"op_pattern": 0})
        # with T.sblock("root"):
        for i in range(T.int64(4)):
            with T.sblock("bump"):
                vi = T.axis.remap("S", [i])
                T.reads(x[vi], y[vi])
                T.writes(x[vi])
                x[vi] = x[vi] + y[vi]

    @T.prim_func(private=True, s_tir=True)
    def sum(A: T.Buffer((T.int64(4),), "float32"), x_red: T.Buffer((), "float32")):
        T.func_attr({"op_pattern": 3, "tirx.noalias": True})
        # with T.sblock("root"):
        for k0 in range(T.int64(4)):
            with T.sblock("x_red"):
                v_k0 = T.axis.remap("R", [k0])
                T.reads(A[v_k0])
                T.writes(x_red[()])
                with T.init():
                    x_red[()] = T.float32(0.0)
                x_red[()] = x_red[()] + A[v_k0]

    @T.prim_func(private=True, s_tir=True)
    def tir_exp(A: T.Buffer((T.int64(4),), "float32"), compute: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"op_pattern": 0, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(4)):
            with T.sblock("compute"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(compute[v_ax0])
                compute[v_ax0] = T.exp(A[v_ax0])

    @R.function(private=True)
    def fused_tir_exp_tir_exp_bump(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Primitive": True})
        cls = Expected
        with R.dataflow():
            a = R.call_tir(cls.tir_exp, (x,), out_ty=R.Tensor((4,), dtype="float32"))
            b = R.call_tir(cls.tir_exp, (y,), out_ty=R.Tensor((4,), dtype="float32"))
            c: R.Tensor((4,), dtype="float32") = R.call_tir_inplace(cls.bump, (a, b), inplace_indices=[0], out_ty=R.Tensor((4,), dtype="float32"))
            R.output(c)
        return c

    @R.function
    def only_reader(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            c: R.Tensor((4,), dtype="float32") = cls.fused_tir_exp_tir_exp_bump(x, y)
            R.output(c)
        return c

    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((), dtype="float32")):
        cls = Expected
        with R.dataflow():
            a = R.call_tir(cls.tir_exp, (x,), out_ty=R.Tensor((4,), dtype="float32"))
            b = R.call_tir(cls.tir_exp, (y,), out_ty=R.Tensor((4,), dtype="float32"))
            c = R.call_tir(cls.sum, (a,), out_ty=R.Tensor((), dtype="float32"))
            d: R.Tensor((4,), dtype="float32") = R.call_tir_inplace(cls.bump, (a, b), inplace_indices=[0], out_ty=R.Tensor((4,), dtype="float32"))
            R.output(c, d)
        return (d, c)
