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
