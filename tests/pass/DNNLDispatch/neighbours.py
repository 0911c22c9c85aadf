# SPDX-License-Identifier: Apache-2.0
# A convolution, the sum behind it and a pooling become one function; arithmetic that nothing of it needs stays.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4, 6, 6), "float32"), w: R.Tensor((8, 4, 3, 3), "float32"), y: R.Tensor(("n", 8, 4, 4), "float32")):
        n = T.int64()
        with R.dataflow():
            lv = R.nn.conv2d(x, w)
            lv1 = R.add(lv, y)
            lv2 = R.nn.relu(lv1)
            lv3 = R.nn.max_pool2d(lv2, pool_size=[2, 2], strides=[2, 2])
            lv4 = R.astype(lv3, "float64")
            gv = R.multiply(lv4, lv4)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_attrs({"external_mods": [{"codegen": "dnnl", "payload": {"args": 4, "ops": [{"activation": "relu", "alpha": 0.0, "beta": 0.0, "dilation": [1, 1], "groups": 1, "in": [0, 1, -1], "op": "convolution", "out": 3, "padding": [0, 0, 0, 0], "strides": [1, 1], "sum": 2}, {"dilation": [1, 1], "in": [3], "mode": "max", "op": "pool", "out": 4, "padding": [0, 0, 0, 0], "pool_size": [2, 2], "strides": [2, 2]}], "out": [4], "results": 1, "symbols": [{"arg": 0, "dim": 0}], "values": [{"arg": 0, "dims": [-1, 4, 6, 6]}, {"arg": 1, "dims": [8, 4, 3, 3]}, {"arg": 2, "dims": [-1, 8, 4, 4]}, {"dims": [-1, 8, 4, 4]}, {"dims": [-1, 8, 2, 2]}]}, "symbol": "fused_relax_nn_conv2d_relax_add_relax_nn_relu_relax_nn_max_pool2d_dnnl"}]})

    @R.function
    def fused_relax_nn_conv2d_relax_add_relax_nn_relu_relax_nn_max_pool2d_dnnl(x: R.Tensor(("n", 4, 6, 6), dtype="float32"), w: R.Tensor((8, 4, 3, 3), dtype="float32"), y: R.Tensor(("n", 8, 4, 4), dtype="float32")) -> R.Tensor(("n", 8, 2, 2), dtype="float32"):
        n = T.int64()
        R.func_attr({"external": "dnnl"})
        lv: R.Tensor((n, 8, 4, 4), dtype="float32") = R.nn.conv2d(x, w, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="void")
        lv1: R.Tensor((n, 8, 4, 4), dtype="float32") = R.add(lv, y)
        lv2: R.Tensor((n, 8, 4, 4), dtype="float32") = R.nn.relu(lv1)
        lv3: R.Tensor((n, 8, 2, 2), dtype="float32") = R.nn.max_pool2d(lv2, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0], dilation=[1, 1], ceil_mode=False, count_include_pad=False, layout="NCHW", out_layout="NCHW")
        return lv3

    @R.function
    def main(x: R.Tensor(("n", 4, 6, 6), dtype="float32"), w: R.Tensor((8, 4, 3, 3), dtype="float32"), y: R.Tensor(("n", 8, 4, 4), dtype="float32")) -> R.Tensor(("n", 8, 2, 2), dtype="float64"):
        n = T.int64()
        with R.dataflow():
            lv3 = R.call_dps_packed("fused_relax_nn_conv2d_relax_add_relax_nn_relu_relax_nn_max_pool2d_dnnl", (x, w, y), out_ty=R.Tensor((n, 8, 2, 2), dtype="float32"))
            lv4: R.Tensor((n, 8, 2, 2), dtype="float64") = R.astype(lv3, dtype="float64")
            gv: R.Tensor((n, 8, 2, 2), dtype="float64") = R.multiply(lv4, lv4)
            R.output(gv)
        return gv
