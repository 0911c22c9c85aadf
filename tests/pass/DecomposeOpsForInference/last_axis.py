# SPDX-License-Identifier: Apache-2.0
# The parameters of a batch_norm get extents of 1 at all axes but its own.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 2, 4, 3), "float32"), g: R.Tensor((3,), "float32"), b: R.Tensor((3,), "float32"), m: R.Tensor((3,), "float32"), v: R.Tensor((3,), "float32")):
        with R.dataflow():
            bn = R.nn.batch_norm(x, g, b, m, v, axis=-1, epsilon=0.125, scale=False, training=False)
            gv = bn[0]
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 2, 4, 3), dtype="float32"), g: R.Tensor((3,), dtype="float32"), b: R.Tensor((3,), dtype="float32"), m: R.Tensor((3,), dtype="float32"), v: R.Tensor((3,), dtype="float32")) -> R.Tensor((1, 2, 4, 3), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 1, 1, 3), dtype="float32") = R.expand_dims(m, axis=[0, 1, 2])
            lv_1: R.Tensor((1, 2, 4, 3), dtype="float32") = R.subtract(x, lv)
            lv_2: R.Tensor((1, 1, 1, 3), dtype="float32") = R.expand_dims(v, axis=[0, 1, 2])
            lv_3: R.Tensor((1, 1, 1, 3), dtype="float32") = R.add(lv_2, R.const(0.125, "float32"))
            lv_4: R.Tensor((1, 1, 1, 3), dtype="float32") = R.sqrt(lv_3)
            lv_5: R.Tensor((1, 2, 4, 3), dtype="float32") = R.divide(lv_1, lv_4)
            lv_6: R.Tensor((1, 1, 1, 3), dtype="float32") = R.expand_dims(b, axis=[0, 1, 2])
            lv_7: R.Tensor((1, 2, 4, 3), dtype="float32") = R.add(lv_5, lv_6)
            bn: R.Tuple(R.Tensor((1, 2, 4, 3), dtype="float32"), R.Tensor((3,), dtype="float32"), R.Tensor((3,), dtype="float32")) = (lv_7, m, v)
            gv: R.Tensor((1, 2, 4, 3), dtype="float32") = bn[0]
            R.output(gv)
        return gv
