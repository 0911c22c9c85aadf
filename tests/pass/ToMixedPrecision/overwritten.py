# SPDX-License-Identifier: Apache-2.0
# passes: ToMixedPrecision{fp16_input_names=["x", "w"]}
# What a call overwrites keeps its dtype, whatever its name: a converted copy would be overwritten in its place.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def bump(x: T.Buffer((T.int64(2), T.int64(2)), "float32")):
        for i, j in T.grid(T.int64(2), T.int64(2)):
            with T.sblock("bump"):
                vi, vj = T.axis.remap("SS", [i, j])
                x[vi, vj] = x[vi, vj] + T.float32(1)

    @R.function
    def main(x: R.Tensor((2, 2), dtype="float32"), w: R.Tensor((2, 2), dtype="float32"), y: R.Tensor((2, 4), dtype="float32")):
        R.func_attr({"global_symbol": "main"})
        cls = Before
        with R.dataflow():
            a = R.negative(x)
            _: R.Tuple = cls.bump(a)
            b = a
            c = R.matmul(b, b)
            d = R.split(y, 2, axis=1)
            e = d[0]
            f = R.call_tir_inplace(cls.bump, (e,), inplace_indices=[0], out_ty=R.Tensor((2, 2), dtype="float32"))
            g = d[0]
            h = R.matmul(f, g)
            _1: R.Tuple = cls.bump(w)
            gv = (b, c, h, w)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def bump(x: T.Buffer((T.int64(2), T.int64(2)), "float32")):
        # with T.sblock("root"):
        for i, j in T.grid(T.int64(2), T.int64(2)):
            with T.sblock("bump"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(x[vi, vj])
                T.writes(x[vi, vj])
                x[vi, vj] = x[vi, vj] + T.float32(1.0)

    @R.function
    def main(x: R.Tensor((2, 2), dtype="float16"), w: R.Tensor((2, 2), dtype="float32"), y: R.Tensor((2, 4), dtype="float32")) -> R.Tuple(R.Tensor((2, 2), dtype="float32"), R.Tensor((2, 2), dtype="float32"), R.Tensor((2, 2), dtype="float32"), R.Tensor((2, 2), dtype="float32")):
        cls = Expected
        with R.dataflow():
            lv: R.Tensor((2, 2), dtype="float16") = R.negative(x)
            a: R.Tensor((2, 2), dtype="float32") = R.astype(lv, dtype="float32")
            _: R.Tuple = cls.bump(a)
            b: R.Tensor((2, 2), dtype="float32") = a
            lv_1: R.Tensor((2, 2), dtype="float16") = R.astype(b, dtype="float16")
            lv_2: R.Tensor((2, 2), dtype="float16") = R.astype(b, dtype="float16")
            lv_3: R.Tensor((2, 2), dtype="float32") = R.matmul(lv_1, lv_2, out_dtype="float32")
            c: R.Tensor((2, 2), dtype="float16") = R.astype(lv_3, dtype="float16")
            d: R.Tuple(R.Tensor((2, 2), dtype="float32"), R.Tensor((2, 2), dtype="float32")) = R.split(y, indices_or_sections=2, axis=1)
            e: R.Tensor((2, 2), dtype="float32") = d[0]
            f: R.Tensor((2, 2), dtype="float32") = R.call_tir_inplace(cls.bump, (e,), inplace_indices=[0], out_ty=R.Tensor((2, 2), dtype="float32"))
            lv_4: R.Tensor((2, 2), dtype="float16") = R.astype(f, dtype="float16")
            g: R.Tensor((2, 2), dtype="float32") = d[0]
            lv_5: R.Tensor((2, 2), dtype="float16") = R.astype(g, dtype="float16")
            lv_6: R.Tensor((2, 2), dtype="float32") = R.matmul(lv_4, lv_5, out_dtype="float32")
            h: R.Tensor((2, 2), dtype="float16") = R.astype(lv_6, dtype="float16")
            _1: R.Tuple = cls.bump(w)
            lv_7: R.Tensor((2, 2), dtype="float32") = R.astype(c, dtype="float32")
            lv_8: R.Tensor((2, 2), dtype="float32") = R.astype(h, dtype="float32")
            gv: R.Tuple(R.Tensor((2, 2), dtype="float32"), R.Tensor((2, 2), dtype="float32"), R.Tensor((2, 2), dtype="float32"), R.Tensor((2, 2), dtype="float32")) = (b, lv_7, lv_8, w)
            R.output(gv)
        return gv
