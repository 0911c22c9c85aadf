# SPDX-License-Identifier: Apache-2.0
# The batch's statistics, moving averages as fields 1 and 2, layer_norm in steps.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 3, 4), "float32"), p: R.Tensor((3,), "float32"), w: R.Tensor((4,), "float32")):
        with R.dataflow():
            bn = R.nn.batch_norm(x, p, p, p, p, axis=1, momentum=0.25)
            y = bn[0]
            ln = R.nn.layer_norm(y, w, w, axes=[-1])
            bare = R.nn.layer_norm(ln, w, w, axes=[-1], center=False, scale=False)
            mean = bn[1]
            R.output(bare, mean)
        return (bare, mean)
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((2, 3, 4), dtype="float32"), p: R.Tensor((3,), dtype="float32"), w: R.Tensor((4,), dtype="float32")) -> R.Tuple(R.Tensor((2, 3, 4), dtype="float32"), R.Tensor((3,), dtype="float32")):
        with R.dataflow():
            lv: R.Tensor((3,), dtype="float32") = R.mean(x, axis=[0, 2], keepdims=False)
            lv_1: R.Tensor((3,), dtype="float32") = R.variance(x, axis=[0, 2], keepdims=False)
            lv_2: R.Tensor((1, 3, 1), dtype="float32") = R.expand_dims(lv, axis=[0, 2])
            lv_3: R.Tensor((2, 3, 4), dtype="float32") = R.subtract(x, lv_2)
            lv_4: R.Tensor((1, 3, 1), dtype="float32") = R.expand_dims(lv_1, axis=[0, 2])
            lv_5: R.Tensor((1, 3, 1), dtype="float32") = R.add(lv_4, R.const(1e-05, "float32"))
            lv_6: R.Tensor((1, 3, 1), dtype="float32") = R.sqrt(lv_5)
            lv_7: R.Tensor((2, 3, 4), dtype="float32") = R.divide(lv_3, lv_6)
            lv_8: R.Tensor((1, 3, 1), dtype="float32") = R.expand_dims(p, axis=[0, 2])
            lv_9: R.Tensor((2, 3, 4), dtype="float32") = R.multiply(lv_7, lv_8)
            lv_10: R.Tensor((1, 3, 1), dtype="float32") = R.expand_dims(p, axis=[0, 2])
            lv_11: R.Tensor((2, 3, 4), dtype="float32") = R.add(lv_9, lv_10)
            lv_12: R.Tuple(R.Tensor((2, 3, 4), dtype="float32"), R.Tensor((3,), dtype="float32"), R.Tensor((3,), dtype="float32")) = (lv_11, lv, lv_1)
            lv_13: R.Tensor((2, 3, 4), dtype="float32") = lv_12[0]
            lv_14: R.Tensor((3,), dtype="float32") = R.multiply(R.const(0.75, "float32"), p)
            lv_15: R.Tensor((3,), dtype="float32") = R.multiply(R.const(0.25, "float32"), lv)
            lv_16: R.Tensor((3,), dtype="float32") = R.add(lv_14, lv_15)
            lv_17: R.Tensor((3,), dtype="float32") = R.multiply(R.const(0.75, "float32"), p)
            lv_18: R.Tensor((3,), dtype="float32") = R.multiply(R.const(0.25, "float32"), lv_1)
            lv_19: R.Tensor((3,), dtype="float32") = R.add(lv_17, lv_18)
            bn: R.Tuple(R.Tensor((2, 3, 4), dtype="float32"), R.Tensor((3,), dtype="float32"), R.Tensor((3,), dtype="float32")) = (lv_13, lv_16, lv_19)
            y: R.Tensor((2, 3, 4), dtype="float32") = bn[0]
            lv_20: R.Tensor((2, 3, 1), dtype="float32") = R.mean(y, axis=[-1], keepdims=True)
            lv_21: R.Tensor((2, 3, 4), dtype="float32") = R.subtract(y, lv_20)
            lv_22: R.Tensor((2, 3, 1), dtype="float32") = R.variance(y, axis=[-1], keepdims=True)
            lv_23: R.Tensor((2, 3, 1), dtype="float32") = R.add(lv_22, R.const(1e-05, "float32"))
            lv_24: R.Tensor((2, 3, 1), dtype="float32") = R.sqrt(lv_23)
            lv_25: R.Tensor((2, 3, 4), dtype="float32") = R.divide(lv_21, lv_24)
            lv_26: R.Tensor((2, 3, 4), dtype="float32") = R.multiply(lv_25, w)
            ln: R.Tensor((2, 3, 4), dtype="float32") = R.add(lv_26, w)
            lv_27: R.Tensor((2, 3, 1), dtype="float32") = R.mean(ln, axis=[-1], keepdims=True)
            lv_28: R.Tensor((2, 3, 4), dtype="float32") = R.subtract(ln, lv_27)
            lv_29: R.Tensor((2, 3, 1), dtype="float32") = R.variance(ln, axis=[-1], keepdims=True)
            lv_30: R.Tensor((2, 3, 1), dtype="float32") = R.add(lv_29, R.const(1e-05, "float32"))
            lv_31: R.Tensor((2, 3, 1), dtype="float32") = R.sqrt(lv_30)
            bare: R.Tensor((2, 3, 4), dtype="float32") = R.divide(lv_28, lv_31)
            mean: R.Tensor((3,), dtype="float32") = bn[1]
            R.output(bare, mean)
        return (bare, mean)
