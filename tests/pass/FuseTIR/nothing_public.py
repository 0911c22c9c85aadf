# SPDX-License-Identifier: Apache-2.0
# A module without a public function keeps all of them.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def double(A: T.Buffer((T.int64(2),), "float32"), B: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            with T.sblock("B"):
                v = T.axis.remap("S", [i])
                B[v] = A[v] * T.float32(2)

    @R.function(private=True)
    def fused(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Primitive": True})
        cls = Before
        with R.dataflow():
            lv = R.call_tir(cls.double, (x,), out_ty=R.Tensor((2,), "float32"))
            gv = R.call_tir(cls.double, (lv,), out_ty=R.Tensor((2,), "float32"))
            R.output(gv)
        return gv

    @R.function(private=True)
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Before
        with R.dataflow():
            gv = cls.fused(x)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def double(A: T.Buffer((T.int64(2),), "float32"), B: T.Buffer((T.int64(2),), "float32")):
        # with T.sblock("root"):
        for i in range(T.int64(2)):
            with T.sblock("B"):
                v = T.axis.remap("S", [i])
                T.reads(A[v])
                T.writes(B[v])
                B[v] = A[v] * T.float32(2.0)

    @T.prim_func(private=True, s_tir=True)
    def fused(x: T.Buffer((T.int64(2),), "float32"), p_output0: T.Buffer((T.int64(2),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        B_intermediate = T.sblock_alloc_buffer((T.int64(2),))
        for i in range(T.int64(2)):
            with T.sblock("B"):
                v = T.axis.remap("S", [i])
                T.reads(x[v])
                T.writes(B_intermediate[v])
                B_intermediate[v] = x[v] * T.float32(2.0)
        for i_1 in range(T.int64(2)):
            with T.sblock("B1"):
                v_1 = T.axis.remap("S", [i_1])
                T.reads(B_intermediate[v_1])
                T.writes(p_output0[v_1])
                p_output0[v_1] = B_intermediate[v_1] * T.float32(2.0)

    @R.function(private=True)
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            gv = R.call_tir(cls.fused, (x,), out_ty=R.Tensor((2,), dtype="float32"))
            R.output(gv)
        return gv
