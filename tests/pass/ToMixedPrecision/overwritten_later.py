# SPDX-License-Identifier: Apache-2.0
# passes: ToMixedPrecision
# Names of what a later call overwrites are not stored in float16, where they would keep the old value.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def bump(x: T.Buffer((T.int64(2), T.int64(2)), "float32")):
        for i, j in T.grid(T.int64(2), T.int64(2)):
            with T.sblock("bump"):
                vi, vj = T.axis.remap("SS", [i, j])
                x[vi, vj] = x[vi, vj] + T.float32(1)

    @R.function
    def main(x: R.Tensor((2, 2), dtype="float32"), y: R.Tensor((2, 4), dtype="float32")):
        cls = Before
        with R.dataflow():
            a = R.negative(x)
            b = a
            _: R.Tuple = cls.bump(a)
            c = R.matmul(b, b)
            d = R.split(y, 2, axis=1)
            e = d[0]
            g = d[0]
            _1: R.Tuple = cls.bump(e)
            h = R.matmul(g, g)
            gv = (c, h)
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
    def main(x: R.Tensor((2, 2), dtype="float32"), y: R.Tensor((2, 4), dtype="float32")) -> R.Tuple(R.Tensor((2, 2), dtype="float32"), R.Tensor((2, 2), dtype="float32")):
        cls = Expected
        with R.dataflow():
            a: R.Tensor((2, 2), dtype="float32") = R.negative(x)
            b: R.Tensor((2, 2), dtype="float32") = a
            _: R.Tuple = cls.bump(a)
            lv: R.Tensor((2, 2), dtype="float16") = R.astype(b, dtype="float16")
            lv_1: R.Tensor((2, 2), dtype="float16") = R.astype(b, dtype="float16")
            lv_2: R.Tensor((2, 2), dtype="float32") = R.matmul(lv, lv_1, out_dtype="float32")
            c: R.Tensor((2, 2), dtype="float16") = R.astype(lv_2, dtype="float16")
            d: R.Tuple(R.Tensor((2, 2), dtype="float32"), R.Tensor((2, 2), dtype="float32")) = R.split(y, indices_or_sections=2, axis=1)
            e: R.Tensor((2, 2), dtype="float32") = d[0]
            g: R.Tensor((2, 2), dtype="float32") = d[0]
            _1: R.Tuple = cls.bump(e)
            lv_3: R.Tensor((2, 2), dtype="float16") = R.astype(g, dtype="float16")
            lv_4: R.Tensor((2, 2), dtype="float16") = R.astype(g, dtype="float16")
            lv_5: R.Tensor((2, 2), dtype="float32") = R.matmul(lv_3, lv_4, out_dtype="float32")
            h: R.Tensor((2, 2), dtype="float16") = R.astype(lv_5, dtype="float16")
            lv_6: R.Tensor((2, 2), dtype="float32") = R.astype(c, dtype="float32")
            lv_7: R.Tensor((2, 2), dtype="float32") = R.astype(h, dtype="float32")
            gv: R.Tuple(R.Tensor((2, 2), dtype="float32"), R.Tensor((2, 2), dtype="float32")) = (lv_6, lv_7)
            R.output(gv)
        return gv
