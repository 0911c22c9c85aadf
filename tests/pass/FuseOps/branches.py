# SPDX-License-Identifier: Apache-2.0
# The dataflow blocks in the branches of an If are fused too, as in the body of a loop.
# passes: LegalizeOps, AnnotateTIROpPattern, FuseOps
@I.ir_module
class Before:
    @R.function(private=True)
    def loop(i: R.Prim("int64"), count: R.Prim("int64"), x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Before
        if i < count:
            with R.dataflow():
                a = R.multiply(x, w)
                b = R.add(a, w)
                R.output(b)
            next: R.Tensor((4,), "float32") = cls.loop(R.prim_value(i + 1), count, b, w)
            r = next
        else:
            r = x
        return r

    @R.function
    def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32"), count: R.Tensor((1,), "int64")) -> R.Tensor((4,), "float32"):
        n = T.int64()
        cls = Before
        with R.dataflow():
            s = R.tensor_to_shape(count)
            s1 = R.match_cast(s, R.Shape([n]))
            y: R.Tensor((4,), "float32") = cls.loop(R.prim_value(0), n, x, w)
            R.output(y)
        return y
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def add(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32"), T_add: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"op_pattern": 0, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(4)):
            with T.sblock("T_add"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0], B[v_ax0])
                T.writes(T_add[v_ax0])
                T_add[v_ax0] = A[v_ax0] + B[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def multiply(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32"), T_multiply: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"op_pattern": 0, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(4)):
            with T.sblock("T_multiply"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0], B[v_ax0])
                T.writes(T_multiply[v_ax0])
                T_multiply[v_ax0] = A[v_ax0] * B[v_ax0]

    @R.function(private=True)
    def fused_multiply_add(x: R.Tensor((4,), dtype="float32"), w: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Primitive": True})
        cls = Expected
        with R.dataflow():
            a = R.call_tir(cls.multiply, (x, w), out_ty=R.Tensor((4,), dtype="float32"))
            b = R.call_tir(cls.add, (a, w), out_ty=R.Tensor((4,), dtype="float32"))
            R.output(b)
        return b

    @R.function(private=True)
    def loop(i: R.Prim("int64"), count: R.Prim("int64"), x: R.Tensor((4,), dtype="float32"), w: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        if R.prim_value(i < count):
            with R.dataflow():
                b: R.Tensor((4,), dtype="float32") = cls.fused_multiply_add(x, w)
                R.output(b)
            next: R.Tensor((4,), dtype="float32") = cls.loop(R.prim_value(i + 1), count, b, w)
            r: R.Tensor((4,), dtype="float32") = next
        else:
            r: R.Tensor((4,), dtype="float32") = x
        return r

    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), w: R.Tensor((4,), dtype="float32"), count: R.Tensor((1,), dtype="int64")) -> R.Tensor((4,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            s: R.Shape(ndim=1) = R.tensor_to_shape(count)
            n = T.int64()
            s1 = R.match_cast(s, R.Shape([n]))
            y: R.Tensor((4,), dtype="float32") = cls.loop(R.prim_value(0), n, x, w)
            R.output(y)
        return y
