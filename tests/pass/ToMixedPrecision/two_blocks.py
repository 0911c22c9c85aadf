# SPDX-License-Identifier: Apache-2.0
# A parameter is converted in each block that needs it.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
        with R.dataflow():
            a = R.matmul(x, w)
            R.output(a)
        b = R.call_pure_packed("test.check", a, ty_args=R.Tensor((4, 4), "float32"))
        with R.dataflow():
            c = R.matmul(b, w)
            R.output(c)
        return c
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((4, 4), dtype="float32"), w: R.Tensor((4, 4), dtype="float32")) -> R.Tensor((4, 4), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((4, 4), dtype="float16") = R.astype(x, dtype="float16")
            lv_1: R.Tensor((4, 4), dtype="float16") = R.astype(w, dtype="float16")
            a: R.Tensor((4, 4), dtype="float32") = R.matmul(lv, lv_1, out_dtype="float32")
            R.output(a)
        b: R.Tensor((4, 4), dtype="float32") = R.call_pure_packed("test.check", a, ty_args=(R.Tensor((4, 4), dtype="float32"),))
        with R.dataflow():
            lv_2: R.Tensor((4, 4), dtype="float16") = R.astype(x, dtype="float16")
            lv_3: R.Tensor((4, 4), dtype="float16") = R.astype(w, dtype="float16")
            lv_4: R.Tensor((4, 4), dtype="float16") = R.astype(b, dtype="float16")
            c: R.Tensor((4, 4), dtype="float32") = R.matmul(lv_4, lv_3, out_dtype="float32")
            R.output(c)
        return c
