# SPDX-License-Identifier: Apache-2.0
# An operator named by skip_ops is left alone; a warning tells of an operator without a rule for its arguments.
# passes: LegalizeOps{skip_ops=["relax.add"], enable_warning=true}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 8, 4), dtype="float32")) -> R.Tensor((2, 8, 4), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2, 8, 4), dtype="float32") = R.add(x, R.const(1, "float32"))
            gv: R.Tensor((2, 8, 4), dtype="float32") = R.nn.relu(lv)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def relu(A: T.Buffer((T.int64(2), T.int64(8), T.int64(4)), "float32"), compute: T.Buffer((T.int64(2), T.int64(8), T.int64(4)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2 in T.grid(T.int64(2), T.int64(8), T.int64(4)):
            with T.sblock("compute"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(A[v_ax0, v_ax1, v_ax2])
                T.writes(compute[v_ax0, v_ax1, v_ax2])
                compute[v_ax0, v_ax1, v_ax2] = T.max(A[v_ax0, v_ax1, v_ax2], T.float32(0.0))

    @R.function
    def main(x: R.Tensor((2, 8, 4), dtype="float32")) -> R.Tensor((2, 8, 4), dtype="float32"):
        cls = Expected
        with R.dataflow():
            lv: R.Tensor((2, 8, 4), dtype="float32") = R.add(x, R.const(1.0, "float32"))
            gv = R.call_tir(cls.relu, (lv,), out_ty=R.Tensor((2, 8, 4), dtype="float32"))
            R.output(gv)
        return gv
