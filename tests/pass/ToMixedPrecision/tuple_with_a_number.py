# SPDX-License-Identifier: Apache-2.0
# passes: ToMixedPrecision{fp16_input_names=["x"]}
# Arguments of a program that are tensors beside numbers: the tensors have their own dtype there.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def copy(a: T.handle, n: T.int64, b: T.handle):
        A = T.match_buffer(a, (n + T.int64(1),))
        B = T.match_buffer(b, (n + T.int64(1),))
        for i in range(n + T.int64(1)):
            with T.sblock("copy"):
                v = T.axis.remap("S", [i])
                B[v] = A[v]

    @R.function
    def main(s: R.Shape(["n"]), x: R.Tensor(("n + 1",), dtype="float32")):
        n = T.int64()
        R.func_attr({"global_symbol": "main"})
        with R.dataflow():
            a = R.call_tir(Before.copy, (x, n), out_ty=R.Tensor((n + 1,), "float32"))
            t = (x, R.shape([n]))
            u = t[0]
            b = R.add(u, u)
            gv = (a, b)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def copy(a: T.handle, n: T.int64, b: T.handle):
        A = T.match_buffer(a, (n + T.int64(1),))
        B = T.match_buffer(b, (n + T.int64(1),))
        # with T.sblock("root"):
        for i in range(n + T.int64(1)):
            with T.sblock("copy"):
                v = T.axis.remap("S", [i])
                T.reads(A[v])
                T.writes(B[v])
                B[v] = A[v]

    @R.function
    def main(s: R.Shape(["n"]), x: R.Tensor(("n + 1",), dtype="float16")) -> R.Tuple(R.Tensor(("n + 1",), dtype="float32"), R.Tensor(("n + 1",), dtype="float32")):
        n = T.int64()
        cls = Expected
        with R.dataflow():
            lv: R.Tensor((n + 1,), dtype="float32") = R.astype(x, dtype="float32")
            a = R.call_tir(cls.copy, (lv, n), out_ty=R.Tensor((n + 1,), dtype="float32"))
            t: R.Tuple(R.Tensor((n + 1,), dtype="float16"), R.Shape([n])) = (x, R.shape([n]))
            u: R.Tensor((n + 1,), dtype="float16") = t[0]
            b: R.Tensor((n + 1,), dtype="float16") = R.add(u, u)
            lv_1: R.Tensor((n + 1,), dtype="float32") = R.astype(b, dtype="float32")
            gv: R.Tuple(R.Tensor((n + 1,), dtype="float32"), R.Tensor((n + 1,), dtype="float32")) = (a, lv_1)
            R.output(gv)
        return gv
