# SPDX-License-Identifier: Apache-2.0
# Parameters that are not constant, another axis, training, statistics that are read, a spread that is not finite: all stays.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 2, 2), dtype="float32"), g: R.Tensor((2,), dtype="float32")) -> R.Tuple(R.Tensor((1, 2, 2), dtype="float32"), R.Tensor((2,), dtype="float32"), R.Tensor((1, 2, 2), dtype="float32"), R.Tensor((1, 2, 2), dtype="float32")):
        with R.dataflow():
            lv = R.nn.batch_norm(x, g, R.const([0.5, 0.25], "float32"), R.const([1.0, 2.0], "float32"), R.const([3.0, 0.0], "float32"), axis=1, training=False)
            lv1: R.Tensor((1, 2, 2), dtype="float32") = lv[0]
            lv2 = R.nn.batch_norm(lv1, R.const([2.0, 1.0], "float32"), R.const([0.5, 0.25], "float32"), R.const([1.0, 2.0], "float32"), R.const([3.0, 0.0], "float32"), axis=2, training=False)
            lv3: R.Tensor((1, 2, 2), dtype="float32") = lv2[0]
            lv4 = R.nn.batch_norm(lv3, R.const([2.0, 1.0], "float32"), R.const([0.5, 0.25], "float32"), R.const([1.0, 2.0], "float32"), R.const([3.0, 0.0], "float32"), axis=1, training=True)
            lv5: R.Tensor((1, 2, 2), dtype="float32") = lv4[0]
            lv6: R.Tensor((2,), dtype="float32") = lv4[1]
            lv7 = R.nn.batch_norm(lv5, R.const([2.0, 1.0], "float32"), R.const([0.5, 0.25], "float32"), R.const([1.0, 2.0], "float32"), R.const([-3.0, 0.0], "float32"), axis=1, epsilon=1.0, training=False)
            lv8: R.Tensor((1, 2, 2), dtype="float32") = lv7[0]
            lv9 = R.nn.batch_norm(lv8, R.const([2.0, 1.0], "float32"), R.const([0.5, 0.25], "float32"), R.const([1.0, 2.0], "float32"), R.const([3.0, 0.0], "float32"), axis=1, training=False)
            lv10: R.Tensor((1, 2, 2), dtype="float32") = lv9[0]
            lv11: R.Tensor((2,), dtype="float32") = lv9[2]
            lv12 = R.add(lv6, lv11)
            gv = (lv5, lv12, lv8, lv10)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 2, 2), dtype="float32"), g: R.Tensor((2,), dtype="float32")) -> R.Tuple(R.Tensor((1, 2, 2), dtype="float32"), R.Tensor((2,), dtype="float32"), R.Tensor((1, 2, 2), dtype="float32"), R.Tensor((1, 2, 2), dtype="float32")):
        with R.dataflow():
            lv: R.Tuple(R.Tensor((1, 2, 2), dtype="float32"), R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")) = R.nn.batch_norm(x, g, R.const([0.5, 0.25], "float32"), R.const([1.0, 2.0], "float32"), R.const([3.0, 0.0], "float32"), axis=1, epsilon=1e-05, center=True, scale=True, momentum=0.1, training=False)
            lv1: R.Tensor((1, 2, 2), dtype="float32") = lv[0]
            lv2: R.Tuple(R.Tensor((1, 2, 2), dtype="float32"), R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")) = R.nn.batch_norm(lv1, R.const([2.0, 1.0], "float32"), R.const([0.5, 0.25], "float32"), R.const([1.0, 2.0], "float32"), R.const([3.0, 0.0], "float32"), axis=2, epsilon=1e-05, center=True, scale=True, momentum=0.1, training=False)
            lv3: R.Tensor((1, 2, 2), dtype="float32") = lv2[0]
            lv4: R.Tuple(R.Tensor((1, 2, 2), dtype="float32"), R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")) = R.nn.batch_norm(lv3, R.const([2.0, 1.0], "float32"), R.const([0.5, 0.25], "float32"), R.const([1.0, 2.0], "float32"), R.const([3.0, 0.0], "float32"), axis=1, epsilon=1e-05, center=True, scale=True, momentum=0.1, training=True)
            lv5: R.Tensor((1, 2, 2), dtype="float32") = lv4[0]
            lv6: R.Tensor((2,), dtype="float32") = lv4[1]
            lv7: R.Tuple(R.Tensor((1, 2, 2), dtype="float32"), R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")) = R.nn.batch_norm(lv5, R.const([2.0, 1.0], "float32"), R.const([0.5, 0.25], "float32"), R.const([1.0, 2.0], "float32"), R.const([-3.0, 0.0], "float32"), axis=1, epsilon=1.0, center=True, scale=True, momentum=0.1, training=False)
            lv8: R.Tensor((1, 2, 2), dtype="float32") = lv7[0]
            lv9: R.Tuple(R.Tensor((1, 2, 2), dtype="float32"), R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")) = R.nn.batch_norm(lv8, R.const([2.0, 1.0], "float32"), R.const([0.5, 0.25], "float32"), R.const([1.0, 2.0], "float32"), R.const([3.0, 0.0], "float32"), axis=1, epsilon=1e-05, center=True, scale=True, momentum=0.1, training=False)
            lv10: R.Tensor((1, 2, 2), dtype="float32") = lv9[0]
            lv11: R.Tensor((2,), dtype="float32") = lv9[2]
            lv12: R.Tensor((2,), dtype="float32") = R.add(lv6, lv11)
            gv: R.Tuple(R.Tensor((1, 2, 2), dtype="float32"), R.Tensor((2,), dtype="float32"), R.Tensor((1, 2, 2), dtype="float32"), R.Tensor((1, 2, 2), dtype="float32")) = (lv5, lv12, lv8, lv10)
            R.output(gv)
        return gv
