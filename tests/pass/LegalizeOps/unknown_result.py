# SPDX-License-Identifier: Apache-2.0
# A call stays whose result has a shape that nothing tells; one that uses it stays as well.
@I.ir_module
class Before:
    @R.function
    def main(s: R.Shape(ndim=2), x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            a = R.zeros(s, "float32")
            b = R.exp(a)
            c = R.exp(x)
            d = R.reshape(x, s)
            gv = (b, c, d)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def tir_exp(A: T.Buffer((T.int64(2), T.int64(3)), "float32"), compute: T.Buffer((T.int64(2), T.int64(3)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(2), T.int64(3)):
            with T.sblock("compute"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax0, v_ax1])
                T.writes(compute[v_ax0, v_ax1])
                compute[v_ax0, v_ax1] = T.exp(A[v_ax0, v_ax1])

    @R.function
    def main(s: R.Shape(ndim=2), x: R.Tensor((2, 3), dtype="float32")) -> R.Tuple(R.Tensor(s, dtype="float32"), R.Tensor((2, 3), dtype="float32"), R.Tensor(s, dtype="float32")):
        cls = Expected
        with R.dataflow():
            a: R.Tensor(s, dtype="float32") = R.zeros(s, dtype="float32")
            b: R.Tensor(s, dtype="float32") = R.exp(a)
            c = R.call_tir(cls.tir_exp, (x,), out_ty=R.Tensor((2, 3), dtype="float32"))
            d: R.Tensor(s, dtype="float32") = R.reshape(x, s)
            gv: R.Tuple(R.Tensor(s, dtype="float32"), R.Tensor((2, 3), dtype="float32"), R.Tensor(s, dtype="float32")) = (b, c, d)
            R.output(gv)
        return gv
