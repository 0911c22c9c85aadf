# SPDX-License-Identifier: Apache-2.0
# Constraints on attributes, element type and rank decide.
# passes: FuseOpsByPattern{patterns=["a.conv := nn.conv2d(x{dtype=float32, ndim=4}, w){data_layout=NHWC}"]}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((4, 4, 1, 1), dtype="float32"), v: R.Tensor((4, 1, 1, 8), dtype="float32")) -> R.Tuple(R.Tensor((1, 4, 8, 8), dtype="float32"), R.Tensor((1, 4, 8, 4), dtype="float32")):
        with R.dataflow():
            gv = R.nn.conv2d(x, w)
            gv1 = R.nn.conv2d(x, v, data_layout="NHWC", kernel_layout="OHWI")
            R.output(gv, gv1)
        return (gv, gv1)
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def fused_relax_nn_conv2d(x: R.Tensor((1, 4, 8, 8), dtype="float32"), v: R.Tensor((4, 1, 1, 8), dtype="float32")) -> R.Tensor((1, 4, 8, 4), dtype="float32"):
        R.func_attr({"Composite": "a.conv", "Primitive": True})
        with R.dataflow():
            gv1: R.Tensor((1, 4, 8, 4), dtype="float32") = R.nn.conv2d(x, v, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NHWC", kernel_layout="OHWI", out_layout="NHWC", out_dtype="void")
            R.output(gv1)
        return gv1

    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((4, 4, 1, 1), dtype="float32"), v: R.Tensor((4, 1, 1, 8), dtype="float32")) -> R.Tuple(R.Tensor((1, 4, 8, 8), dtype="float32"), R.Tensor((1, 4, 8, 4), dtype="float32")):
        cls = Expected
        with R.dataflow():
            gv: R.Tensor((1, 4, 8, 8), dtype="float32") = R.nn.conv2d(x, w, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="void")
            gv1: R.Tensor((1, 4, 8, 4), dtype="float32") = cls.fused_relax_nn_conv2d(x, v)
            R.output(gv, gv1)
        return (gv, gv1)
