# SPDX-License-Identifier: Apache-2.0
# Parameters of another dtype than the data's are converted; what is handed through is not.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 3, 4), "float16"), g: R.Tensor((3,), "float32"), b: R.Tensor((3,), "float16"), m: R.Tensor((3,), "float32"), v: R.Tensor((3,), "float32")):
        with R.dataflow():
            gv = R.nn.batch_norm(x, g, b, m, v, axis=1)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((2, 3, 4), dtype="float16"), g: R.Tensor((3,), dtype="float32"), b: R.Tensor((3,), dtype="float16"), m: R.Tensor((3,), dtype="float32"), v: R.Tensor((3,), dtype="float32")) -> R.Tuple(R.Tensor((2, 3, 4), dtype="float16"), R.Tensor((3,), dtype="float32"), R.Tensor((3,), dtype="float32")):
        with R.dataflow():
            lv: R.Tensor((3,), dtype="float16") = R.astype(m, dtype="float16")
            lv_1: R.Tensor((1, 3, 1), dtype="float16") = R.expand_dims(lv, axis=[0, 2])
            lv_2: R.Tensor((2, 3, 4), dtype="float16") = R.subtract(x, lv_1)
            lv_3: R.Tensor((3,), dtype="float16") = R.astype(v, dtype="float16")
            lv_4: R.Tensor((1, 3, 1), dtype="float16") = R.expand_dims(lv_3, axis=[0, 2])
            lv_5: R.Tensor((1, 3, 1), dtype="float16") = R.add(lv_4, R.const(1.001358e-05, "float16"))
            lv_6: R.Tensor((1, 3, 1), dtype="float16") = R.sqrt(lv_5)
            lv_7: R.Tensor((2, 3, 4), dtype="float16") = R.divide(lv_2, lv_6)
            lv_8: R.Tensor((3,), dtype="float16") = R.astype(g, dtype="float16")
            lv_9: R.Tensor((1, 3, 1), dtype="float16") = R.expand_dims(lv_8, axis=[0, 2])
            lv_10: R.Tensor((2, 3, 4), dtype="float16") = R.multiply(lv_7, lv_9)
            lv_11: R.Tensor((1, 3, 1), dtype="float16") = R.expand_dims(b, axis=[0, 2])
            lv_12: R.Tensor((2, 3, 4), dtype="float16") = R.add(lv_10, lv_11)
            gv: R.Tuple(R.Tensor((2, 3, 4), dtype="float16"), R.Tensor((3,), dtype="float32"), R.Tensor((3,), dtype="float32")) = (lv_12, m, v)
            R.output(gv)
        return gv
