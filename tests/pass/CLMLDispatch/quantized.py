# SPDX-License-Identifier: Apache-2.0
# A product with a matrix of 4-bit numbers in groups of 32 is one operation.
# target: {"kind": "opencl", "keys": ["opencl", "gpu", "clml"]}
# passes: CLMLDispatch{min_work=0}
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def weight(packed: T.Buffer((8, 4), "uint32"), factor: T.Buffer((2, 4), "float16"), out: T.Buffer((64, 4), "float16")):
        for j, i in T.grid(4, 64):
            with T.sblock("out"):
                vj, vi = T.axis.remap("SS", [j, i])
                out[vi, vj] = factor[vi // 32, vj] * T.Cast("float16", T.Cast("int32", T.bitwise_and(T.shift_right(packed[vi // 8, vj], T.Cast("uint32", (vi - vi // 8 * 8) * 4)), T.uint32(15))) - 7)

    @R.function
    def main(x: R.Tensor((1, 1, 64), dtype="float16"), packed: R.Tensor((8, 4), dtype="uint32"), factor: R.Tensor((2, 4), dtype="float16")) -> R.Tensor((1, 1, 4), dtype="float16"):
        cls = Before
        with R.dataflow():
            w = R.call_tir(cls.weight, (packed, factor), out_ty=R.Tensor((64, 4), dtype="float16"))
            gv = R.matmul(x, w)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_attrs({"external_mods": [{"codegen": "clml5", "feature": "clml>=5", "payload": {"after": [], "args": 4, "before": [], "ops": [{"in": [0, 2, -1], "op": "fully_connected", "out": 3}], "results": 1, "tensors": [{"arg": 2, "dims": [1, 1, 1, 64], "dtype": "float16", "layout": "nchw", "usage": "tnn"}, {"arg": 1, "dims": [1, 1, 2, 4], "dtype": "float16", "layout": "nchw", "usage": "parameter"}, {"arg": 0, "dims": [1, 1, 8, 4], "dtype": "q4", "layout": "nchw", "scale": 1, "usage": "parameter"}, {"arg": 3, "dims": [1, 1, 1, 4], "dtype": "float16", "layout": "nchw", "usage": "tnn"}]}, "symbol": "fused_weight_relax_matmul_clml5"}]})

    @T.prim_func(private=True, s_tir=True)
    def weight(packed: T.Buffer((8, 4), "uint32"), factor: T.Buffer((2, 4), "float16"), out: T.Buffer((64, 4), "float16")):
        # with T.sblock("root"):
        for j, i in T.grid(4, 64):
            with T.sblock("out"):
                vj, vi = T.axis.remap("SS", [j, i])
                T.reads(factor[vi // 32, vj], packed[vi // 8, vj])
                T.writes(out[vi, vj])
                out[vi, vj] = factor[vi // 32, vj] * T.Cast("float16", T.Cast("int32", T.bitwise_and(T.shift_right(packed[vi // 8, vj], T.Cast("uint32", (vi - vi // 8 * 8) * 4)), T.uint32(15))) - 7)

    @R.function
    def fused_weight_relax_matmul_clml5(packed: R.Tensor((8, 4), dtype="uint32"), factor: R.Tensor((2, 4), dtype="float16"), x: R.Tensor((1, 1, 64), dtype="float16")) -> R.Tensor((1, 1, 4), dtype="float16"):
        R.func_attr({"external": "clml5"})
        cls = Expected
        w = R.call_tir(cls.weight, (packed, factor), out_ty=R.Tensor((64, 4), dtype="float16"))
        gv: R.Tensor((1, 1, 4), dtype="float16") = R.matmul(x, w, out_dtype="void")
        return gv

    @R.function
    def main(x: R.Tensor((1, 1, 64), dtype="float16"), packed: R.Tensor((8, 4), dtype="uint32"), factor: R.Tensor((2, 4), dtype="float16")) -> R.Tensor((1, 1, 4), dtype="float16"):
        with R.dataflow():
            gv = R.call_dps_packed("fused_weight_relax_matmul_clml5", (packed, factor, x), out_ty=R.Tensor((1, 1, 4), dtype="float16"))
            R.output(gv)
        return gv
