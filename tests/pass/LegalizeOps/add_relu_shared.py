# SPDX-License-Identifier: Apache-2.0
# Equal programs are made once; a scalar constant is written into the program; an operator without known shapes stays.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32"), y: R.Tensor(dtype="float32", ndim=2)) -> R.Tensor(dtype="float32", ndim=2):
        with R.dataflow():
            lv: R.Tensor((2, 3), dtype="float32") = R.add(x, R.const(1, "float32"))
            lv1: R.Tensor((2, 3), dtype="float32") = R.add(lv, R.const(1, "float32"))
            gv: R.Tensor(dtype="float32", ndim=2) = R.add(lv1, y)
            R.output(gv)
        return gv


# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def add(A: T.Buffer((T.int64(2), T.int64(3)), "float32"), T_add: T.Buffer((T.int64(2), T.int64(3)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(2), T.int64(3)):
            with T.sblock("T_add"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax0, v_ax1])
                T.writes(T_add[v_ax0, v_ax1])
                T_add[v_ax0, v_ax1] = A[v_ax0, v_ax1] + T.float32(1.0)

    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32"), y: R.Tensor(dtype="float32", ndim=2)) -> R.Tensor(dtype="float32", ndim=2):
        cls = Expected
        with R.dataflow():
            lv = R.call_tir(cls.add, (x,), out_ty=R.Tensor((2, 3), dtype="float32"))
            lv1 = R.call_tir(cls.add, (lv,), out_ty=R.Tensor((2, 3), dtype="float32"))
            gv: R.Tensor(dtype="float32", ndim=2) = R.add(lv1, y)
            R.output(gv)
        return gv
