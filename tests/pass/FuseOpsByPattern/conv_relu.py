# SPDX-License-Identifier: Apache-2.0
# Two operators become one Composite function; constants stay inside by default.
# passes: FuseOpsByPattern{patterns=["dnnl.conv2d_relu := nn.relu(nn.conv2d(x, w))"]}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((4, 4, 3, 3), dtype="float32")) -> R.Tensor((1, 4, 6, 6), dtype="float32"):
        with R.dataflow():
            lv = R.nn.conv2d(x, w)
            lv1 = R.nn.relu(lv)
            gv = R.add(lv1, R.const(1.0, "float32"))
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def fused_relax_nn_conv2d_relax_nn_relu(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((4, 4, 3, 3), dtype="float32")) -> R.Tensor((1, 4, 6, 6), dtype="float32"):
        R.func_attr({"Composite": "dnnl.conv2d_relu", "Primitive": True})
        with R.dataflow():
            lv: R.Tensor((1, 4, 6, 6), dtype="float32") = R.nn.conv2d(x, w, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="void")
            lv1: R.Tensor((1, 4, 6, 6), dtype="float32") = R.nn.relu(lv)
            R.output(lv1)
        return lv1

    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), dtype="float32"), w: R.Tensor((4, 4, 3, 3), dtype="float32")) -> R.Tensor((1, 4, 6, 6), dtype="float32"):
        cls = Expected
        with R.dataflow():
            lv1: R.Tensor((1, 4, 6, 6), dtype="float32") = cls.fused_relax_nn_conv2d_relax_nn_relu(x, w)
            gv: R.Tensor((1, 4, 6, 6), dtype="float32") = R.add(lv1, R.const(1.0, "float32"))
            R.output(gv)
        return gv
