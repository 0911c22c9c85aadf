# SPDX-License-Identifier: Apache-2.0
# Operators that number axes get the new numbers: reductions, slices, shapes, normalization.
# passes: ConvertLayout{desired_layouts={"relax.nn.conv2d": ["NHWC", "OHWI"]}}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((8, 4, 3, 3), dtype="float32"), g: R.Tensor((8,), dtype="float32"), m: R.Tensor((8,), dtype="float32")) -> R.Tuple(R.Tensor((1, 6), dtype="float32"), R.Tensor((6, 6, 8, 1), dtype="float32"), R.Tensor((8, 6, 1, 6), dtype="float32"), R.Tensor((1, 16, 6, 6), dtype="float32")):
        with R.dataflow():
            lv: R.Tensor((1, 8, 6, 6), dtype="float32") = R.nn.conv2d(x, w)
            a: R.Tensor((1, 6), dtype="float32") = R.sum(lv, axis=[1, -1])
            lv1 = R.nn.batch_norm(lv, g, g, m, m, axis=1)
            lv2: R.Tensor((1, 8, 6, 6), dtype="float32") = lv1[0]
            b: R.Tensor((6, 6, 8, 1), dtype="float32") = R.permute_dims(lv2, axes=[2, 3, 1, 0])
            lv3: R.Tensor((8, 6, 6), dtype="float32") = R.squeeze(lv2, axis=[0])
            c: R.Tensor((8, 6, 1, 6), dtype="float32") = R.expand_dims(lv3, axis=[2])
            lv4: R.Tensor((1, 16, 6, 6), dtype="float32") = R.concat((lv, lv2), axis=1)
            lv5: R.Tensor((1, 16, 6, 6), dtype="float32") = R.flip(lv4, axis=-2)
            lv6: R.Tensor((1, 8, 6, 6), dtype="float32") = R.strided_slice(lv5, (R.prim_value(1),), (R.prim_value(0),), (R.prim_value(16),), (R.prim_value(2),))
            d: R.Tensor((1, 16, 6, 6), dtype="float32") = R.tile(lv6, repeats=[2, 1, 1])
            gv = (a, b, c, d)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((8, 4, 3, 3), dtype="float32"), g: R.Tensor((8,), dtype="float32"), m: R.Tensor((8,), dtype="float32")) -> R.Tuple(R.Tensor((1, 6), dtype="float32"), R.Tensor((6, 6, 8, 1), dtype="float32"), R.Tensor((8, 6, 1, 6), dtype="float32"), R.Tensor((1, 16, 6, 6), dtype="float32")):
        with R.dataflow():
            lv: R.Tensor((1, 8, 8, 4), dtype="float32") = R.permute_dims(x, axes=[0, 2, 3, 1])
            lv_1: R.Tensor((8, 3, 3, 4), dtype="float32") = R.permute_dims(w, axes=[0, 2, 3, 1])
            lv_2: R.Tensor((1, 6, 6, 8), dtype="float32") = R.nn.conv2d(lv, lv_1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NHWC", kernel_layout="OHWI", out_layout="NHWC", out_dtype="void")
            a: R.Tensor((1, 6), dtype="float32") = R.sum(lv_2, axis=[2, 3], keepdims=False)
            lv1: R.Tuple(R.Tensor((1, 6, 6, 8), dtype="float32"), R.Tensor((8,), dtype="float32"), R.Tensor((8,), dtype="float32")) = R.nn.batch_norm(lv_2, g, g, m, m, axis=3, epsilon=1e-05, center=True, scale=True, momentum=0.1, training=True)
            lv2: R.Tensor((1, 6, 6, 8), dtype="float32") = lv1[0]
            b: R.Tensor((6, 6, 8, 1), dtype="float32") = R.permute_dims(lv2, axes=[1, 2, 3, 0])
            lv3: R.Tensor((6, 6, 8), dtype="float32") = R.squeeze(lv2, axis=[0])
            c: R.Tensor((6, 6, 1, 8), dtype="float32") = R.expand_dims(lv3, axis=[2])
            lv4: R.Tensor((1, 6, 6, 16), dtype="float32") = R.concat((lv_2, lv2), axis=3)
            lv5: R.Tensor((1, 6, 6, 16), dtype="float32") = R.flip(lv4, axis=1)
            lv6: R.Tensor((1, 6, 6, 8), dtype="float32") = R.strided_slice(lv5, (R.prim_value(3),), (R.prim_value(0),), (R.prim_value(16),), (R.prim_value(2),), assume_inbound=False)
            d: R.Tensor((1, 6, 6, 16), dtype="float32") = R.tile(lv6, repeats=[1, 1, 1, 2])
            lv_3: R.Tensor((8, 6, 1, 6), dtype="float32") = R.permute_dims(c, axes=[3, 0, 2, 1])
            lv_4: R.Tensor((1, 16, 6, 6), dtype="float32") = R.permute_dims(d, axes=[0, 3, 1, 2])
            gv: R.Tuple(R.Tensor((1, 6), dtype="float32"), R.Tensor((6, 6, 8, 1), dtype="float32"), R.Tensor((8, 6, 1, 6), dtype="float32"), R.Tensor((1, 16, 6, 6), dtype="float32")) = (a, b, lv_3, lv_4)
            R.output(gv)
        return gv
