# SPDX-License-Identifier: Apache-2.0
# What only looks like an operation of the extension stays: groups that are not depthwise, operands that are broadcast, symbolic
# shapes, integers, an activation that is no relu6 (the convolution goes alone, and so does the clip).
# target: {"kind": "opencl", "keys": ["opencl", "gpu", "clml"]}
# passes: CLMLDispatch{min_work=0}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 4, 2, 2), dtype="float32"), y: R.Tensor(("n", 4), dtype="float32"), z: R.Tensor((2, 2), dtype="int32")):
        n = T.int64()
        with R.dataflow():
            lv = R.nn.conv2d(x, R.const([[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]], "float32"), groups=2)
            lv1 = R.add(lv, R.const(1.0, "float32"))
            lv2 = R.nn.relu(y)
            lv3 = R.add(z, z)
            lv4 = R.nn.conv2d(lv1, R.const([[[[1.0]], [[2.0]]]], "float32"))
            lv5 = R.clip(lv4, -1, 6)
            gv = (lv2, lv3, lv5)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_attrs({"external_mods": [{"codegen": "clml", "constants": [1], "feature": "clml", "payload": {"after": [{"from": 5, "to": 6}], "args": 3, "before": [{"from": 0, "to": 1}, {"from": 2, "to": 3}], "ops": [{"dilation": [1, 1], "in": [1, 3, -1], "mode": "plain", "op": "convolution", "out": 4, "pads": [0, 0, 0, 0], "strides": [1, 1]}, {"in": [4], "max": 6.0, "min": -1.0, "op": "clip", "out": 5}], "results": 1, "tensors": [{"arg": 0, "dims": [1, 2, 2, 2], "dtype": "float32", "layout": "nchw"}, {"dims": [1, 2, 2, 2], "dtype": "float32", "layout": "optimal"}, {"arg": 1, "dims": [1, 2, 1, 1], "dtype": "float32", "layout": "nchw"}, {"dims": [1, 2, 1, 1], "dtype": "float32", "layout": "optimal"}, {"dims": [1, 1, 2, 2], "dtype": "float32", "layout": "optimal"}, {"dims": [1, 1, 2, 2], "dtype": "float32", "layout": "optimal"}, {"arg": 2, "dims": [1, 1, 2, 2], "dtype": "float32", "layout": "nchw"}]}, "symbol": "fused_relax_nn_conv2d_relax_clip_clml"}]})

    @R.function
    def fused_relax_nn_conv2d_relax_clip_clml(lv1: R.Tensor((1, 2, 2, 2), dtype="float32"), param_0: R.Tensor((1, 2, 1, 1), dtype="float32")) -> R.Tensor((1, 1, 2, 2), dtype="float32"):
        R.func_attr({"external": "clml"})
        lv4: R.Tensor((1, 1, 2, 2), dtype="float32") = R.nn.conv2d(lv1, param_0, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="void")
        lv5: R.Tensor((1, 1, 2, 2), dtype="float32") = R.clip(lv4, R.prim_value(-1), R.prim_value(6))
        return lv5

    @R.function
    def main(x: R.Tensor((1, 4, 2, 2), dtype="float32"), y: R.Tensor(("n", 4), dtype="float32"), z: R.Tensor((2, 2), dtype="int32")) -> R.Tuple(R.Tensor(("n", 4), dtype="float32"), R.Tensor((2, 2), dtype="int32"), R.Tensor((1, 1, 2, 2), dtype="float32")):
        n = T.int64()
        with R.dataflow():
            lv: R.Tensor((1, 2, 2, 2), dtype="float32") = R.nn.conv2d(x, R.const([[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]], "float32"), strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=2, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="void")
            lv1: R.Tensor((1, 2, 2, 2), dtype="float32") = R.add(lv, R.const(1.0, "float32"))
            lv2: R.Tensor((n, 4), dtype="float32") = R.nn.relu(y)
            lv3: R.Tensor((2, 2), dtype="int32") = R.add(z, z)
            lv5 = R.call_dps_packed("fused_relax_nn_conv2d_relax_clip_clml", (lv1, R.const([[[[1.0]], [[2.0]]]], "float32")), out_ty=R.Tensor((1, 1, 2, 2), dtype="float32"))
            gv: R.Tuple(R.Tensor((n, 4), dtype="float32"), R.Tensor((2, 2), dtype="int32"), R.Tensor((1, 1, 2, 2), dtype="float32")) = (lv2, lv3, lv5)
            R.output(gv)
        return gv
