# SPDX-License-Identifier: Apache-2.0
# Convolution, bias and relu are one operation; pooling behind it stays in the extension's layout. The weight is a constant argument.
# target: {"kind": "opencl", "keys": ["opencl", "gpu", "clml"]}
# passes: CLMLDispatch{min_work=0}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 1, 4, 4), dtype="float32")):
        with R.dataflow():
            lv = R.nn.conv2d(x, R.const([[[[1.0]]], [[[2.0]]]], "float32"))
            lv1 = R.add(lv, R.const([[[[0.5]], [[1.5]]]], "float32"))
            lv2 = R.nn.relu(lv1)
            gv = R.nn.max_pool2d(lv2, pool_size=[2, 2], strides=[2, 2])
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_attrs({"external_mods": [{"codegen": "clml", "constants": [1, 2], "feature": "clml", "payload": {"after": [{"from": 7, "to": 8}], "args": 4, "before": [{"from": 0, "to": 1}, {"from": 2, "to": 3}, {"from": 4, "to": 5}], "ops": [{"activation": "relu", "dilation": [1, 1], "in": [1, 3, 5], "mode": "plain", "op": "convolution", "out": 6, "pads": [0, 0, 0, 0], "strides": [1, 1]}, {"in": [6], "mode": "max", "op": "pool", "out": 7, "pads": [0, 0, 0, 0], "strides": [2, 2], "window": [2, 2]}], "results": 1, "tensors": [{"arg": 0, "dims": [1, 1, 4, 4], "dtype": "float32", "layout": "nchw"}, {"dims": [1, 1, 4, 4], "dtype": "float32", "layout": "optimal"}, {"arg": 1, "dims": [2, 1, 1, 1], "dtype": "float32", "layout": "nchw"}, {"dims": [2, 1, 1, 1], "dtype": "float32", "layout": "optimal"}, {"arg": 2, "dims": [1, 2, 1, 1], "dtype": "float32", "layout": "nchw"}, {"dims": [1, 2, 1, 1], "dtype": "float32", "layout": "optimal"}, {"dims": [1, 2, 4, 4], "dtype": "float32", "layout": "optimal"}, {"dims": [1, 2, 2, 2], "dtype": "float32", "layout": "optimal"}, {"arg": 3, "dims": [1, 2, 2, 2], "dtype": "float32", "layout": "nchw"}]}, "symbol": "fused_relax_nn_conv2d_relax_add_relax_nn_relu_relax_nn_max_pool2d_clml"}]})

    @R.function
    def fused_relax_nn_conv2d_relax_add_relax_nn_relu_relax_nn_max_pool2d_clml(x: R.Tensor((1, 1, 4, 4), dtype="float32"), param_0: R.Tensor((2, 1, 1, 1), dtype="float32"), param_1: R.Tensor((1, 2, 1, 1), dtype="float32")) -> R.Tensor((1, 2, 2, 2), dtype="float32"):
        R.func_attr({"external": "clml"})
        lv: R.Tensor((1, 2, 4, 4), dtype="float32") = R.nn.conv2d(x, param_0, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="void")
        lv1: R.Tensor((1, 2, 4, 4), dtype="float32") = R.add(lv, param_1)
        lv2: R.Tensor((1, 2, 4, 4), dtype="float32") = R.nn.relu(lv1)
        gv: R.Tensor((1, 2, 2, 2), dtype="float32") = R.nn.max_pool2d(lv2, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0], dilation=[1, 1], ceil_mode=False, count_include_pad=False, layout="NCHW", out_layout="NCHW")
        return gv

    @R.function
    def main(x: R.Tensor((1, 1, 4, 4), dtype="float32")) -> R.Tensor((1, 2, 2, 2), dtype="float32"):
        with R.dataflow():
            gv = R.call_dps_packed("fused_relax_nn_conv2d_relax_add_relax_nn_relu_relax_nn_max_pool2d_clml", (x, R.const([[[[1.0]]], [[[2.0]]]], "float32"), R.const([[[[0.5]], [[1.5]]]], "float32")), out_ty=R.Tensor((1, 2, 2, 2), dtype="float32"))
            R.output(gv)
        return gv
