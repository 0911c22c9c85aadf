# SPDX-License-Identifier: Apache-2.0
# Parameters of another dtype than the data's are converted; moving averages keep theirs.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 3, 4), "float64"), g: R.Tensor((3,), "float32"), b: R.Tensor((3,), "float32"), m: R.Tensor((3,), "float32"), v: R.Tensor((3,), "float32"), s: R.Tensor((4,), "float32"), o: R.Tensor((4,), "float64")):
        with R.dataflow():
            bn = R.nn.batch_norm(x, g, b, m, v, axis=1)
            ln = R.nn.layer_norm(x, s, o, axes=[2])
            gv = (bn, ln)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((2, 3, 4), dtype="float64"), g: R.Tensor((3,), dtype="float32"), b: R.Tensor((3,), dtype="float32"), m: R.Tensor((3,), dtype="float32"), v: R.Tensor((3,), dtype="float32"), s: R.Tensor((4,), dtype="float32"), o: R.Tensor((4,), dtype="float64")) -> R.Tuple(R.Tuple(R.Tensor((2, 3, 4), dtype="float64"), R.Tensor((3,), dtype="float32"), R.Tensor((3,), dtype="float32")), R.Tensor((2, 3, 4), dtype="float64")):
        with R.dataflow():
            lv: R.Tensor((3,), dtype="float64") = R.mean(x, axis=[0, 2], keepdims=False)
            lv_1: R.Tensor((3,), dtype="float64") = R.variance(x, axis=[0, 2], keepdims=False)
            lv_2: R.Tensor((1, 3, 1), dtype="float64") = R.expand_dims(lv, axis=[0, 2])
            lv_3: R.Tensor((2, 3, 4), dtype="float64") = R.subtract(x, lv_2)
            lv_4: R.Tensor((1, 3, 1), dtype="float64") = R.expand_dims(lv_1, axis=[0, 2])
            lv_5: R.Tensor((1, 3, 1), dtype="float64") = R.add(lv_4, R.const(1e-05, "float64"))
            lv_6: R.Tensor((1, 3, 1), dtype="float64") = R.sqrt(lv_5)
            lv_7: R.Tensor((2, 3, 4), dtype="float64") = R.divide(lv_3, lv_6)
            lv_8: R.Tensor((3,), dtype="float64") = R.astype(g, dtype="float64")
            lv_9: R.Tensor((1, 3, 1), dtype="float64") = R.expand_dims(lv_8, axis=[0, 2])
            lv_10: R.Tensor((2, 3, 4), dtype="float64") = R.multiply(lv_7, lv_9)
            lv_11: R.Tensor((3,), dtype="float64") = R.astype(b, dtype="float64")
            lv_12: R.Tensor((1, 3, 1), dtype="float64") = R.expand_dims(lv_11, axis=[0, 2])
            lv_13: R.Tensor((2, 3, 4), dtype="float64") = R.add(lv_10, lv_12)
            lv_14: R.Tuple(R.Tensor((2, 3, 4), dtype="float64"), R.Tensor((3,), dtype="float64"), R.Tensor((3,), dtype="float64")) = (lv_13, lv, lv_1)
            lv_15: R.Tensor((2, 3, 4), dtype="float64") = lv_14[0]
            lv_16: R.Tensor((3,), dtype="float32") = R.astype(lv, dtype="float32")
            lv_17: R.Tensor((3,), dtype="float32") = R.multiply(R.const(0.9, "float32"), m)
            lv_18: R.Tensor((3,), dtype="float32") = R.multiply(R.const(0.1, "float32"), lv_16)
            lv_19: R.Tensor((3,), dtype="float32") = R.add(lv_17, lv_18)
            lv_20: R.Tensor((3,), dtype="float32") = R.astype(lv_1, dtype="float32")
            lv_21: R.Tensor((3,), dtype="float32") = R.multiply(R.const(0.9, "float32"), v)
            lv_22: R.Tensor((3,), dtype="float32") = R.multiply(R.const(0.1, "float32"), lv_20)
            lv_23: R.Tensor((3,), dtype="float32") = R.add(lv_21, lv_22)
            bn: R.Tuple(R.Tensor((2, 3, 4), dtype="float64"), R.Tensor((3,), dtype="float32"), R.Tensor((3,), dtype="float32")) = (lv_15, lv_19, lv_23)
            lv_24: R.Tensor((2, 3, 1), dtype="float64") = R.mean(x, axis=[2], keepdims=True)
            lv_25: R.Tensor((2, 3, 4), dtype="float64") = R.subtract(x, lv_24)
            lv_26: R.Tensor((2, 3, 1), dtype="float64") = R.variance(x, axis=[2], keepdims=True)
            lv_27: R.Tensor((2, 3, 1), dtype="float64") = R.add(lv_26, R.const(1e-05, "float64"))
            lv_28: R.Tensor((2, 3, 1), dtype="float64") = R.sqrt(lv_27)
            lv_29: R.Tensor((4,), dtype="float64") = R.astype(s, dtype="float64")
            lv_30: R.Tensor((2, 3, 4), dtype="float64") = R.divide(lv_25, lv_28)
            lv_31: R.Tensor((2, 3, 4), dtype="float64") = R.multiply(lv_30, lv_29)
            ln: R.Tensor((2, 3, 4), dtype="float64") = R.add(lv_31, o)
            gv: R.Tuple(R.Tuple(R.Tensor((2, 3, 4), dtype="float64"), R.Tensor((3,), dtype="float32"), R.Tensor((3,), dtype="float32")), R.Tensor((2, 3, 4), dtype="float64")) = (bn, ln)
            R.output(gv)
        return gv
