# SPDX-License-Identifier: Apache-2.0
# passes: DecomposeOpsForInference{only_marked=True}
# A batch_norm that is marked for training stays.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), g: R.Tensor((3,), "float32"), b: R.Tensor((3,), "float32"), m: R.Tensor((3,), "float32"), v: R.Tensor((3,), "float32")):
        with R.dataflow():
            bn = R.nn.batch_norm(x, g, b, m, v, axis=1, training=True)
            y = bn[0]
            plain = R.nn.batch_norm(y, g, b, m, v, axis=1, training=False)
            gv = plain[0]
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32"), g: R.Tensor((3,), dtype="float32"), b: R.Tensor((3,), dtype="float32"), m: R.Tensor((3,), dtype="float32"), v: R.Tensor((3,), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        with R.dataflow():
            bn: R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((3,), dtype="float32"), R.Tensor((3,), dtype="float32")) = R.nn.batch_norm(x, g, b, m, v, axis=1, epsilon=1e-05, center=True, scale=True, momentum=0.1, training=True)
            y: R.Tensor((2, 3), dtype="float32") = bn[0]
            lv: R.Tensor((1, 3), dtype="float32") = R.expand_dims(m, axis=[0])
            lv_1: R.Tensor((2, 3), dtype="float32") = R.subtract(y, lv)
            lv_2: R.Tensor((1, 3), dtype="float32") = R.expand_dims(v, axis=[0])
            lv_3: R.Tensor((1, 3), dtype="float32") = R.add(lv_2, R.const(1e-05, "float32"))
            lv_4: R.Tensor((1, 3), dtype="float32") = R.sqrt(lv_3)
            lv_5: R.Tensor((2, 3), dtype="float32") = R.divide(lv_1, lv_4)
            lv_6: R.Tensor((1, 3), dtype="float32") = R.expand_dims(g, axis=[0])
            lv_7: R.Tensor((2, 3), dtype="float32") = R.multiply(lv_5, lv_6)
            lv_8: R.Tensor((1, 3), dtype="float32") = R.expand_dims(b, axis=[0])
            lv_9: R.Tensor((2, 3), dtype="float32") = R.add(lv_7, lv_8)
            plain: R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((3,), dtype="float32"), R.Tensor((3,), dtype="float32")) = (lv_9, m, v)
            gv: R.Tensor((2, 3), dtype="float32") = plain[0]
            R.output(gv)
        return gv
