# SPDX-License-Identifier: Apache-2.0
# The extension normalizes over channels: for another axis the tensor is seen as (outer, axis, inner, 1).
# target: {"kind": "opencl", "keys": ["opencl", "gpu", "clml"]}
# passes: CLMLDispatch{min_work=0}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 3, 5), dtype="float16")):
        with R.dataflow():
            lv = R.nn.relu(x)
            gv = R.nn.softmax(lv, axis=2)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_attrs({"external_mods": [{"codegen": "clml", "feature": "clml", "payload": {"after": [{"from": 5, "to": 6}], "args": 2, "before": [{"from": 0, "to": 1}], "ops": [{"activation": "relu", "in": [1], "op": "activation", "out": 2}, {"in": [2], "op": "reshape", "out": 3}, {"in": [3], "op": "softmax", "out": 4}, {"in": [4], "op": "reshape", "out": 5}], "results": 1, "tensors": [{"arg": 0, "dims": [2, 3, 5, 1], "dtype": "float16", "layout": "nchw"}, {"dims": [2, 3, 5, 1], "dtype": "float16", "layout": "optimal"}, {"dims": [2, 3, 5, 1], "dtype": "float16", "layout": "optimal"}, {"dims": [6, 5, 1, 1], "dtype": "float16", "layout": "optimal"}, {"dims": [6, 5, 1, 1], "dtype": "float16", "layout": "optimal"}, {"dims": [2, 3, 5, 1], "dtype": "float16", "layout": "optimal"}, {"arg": 1, "dims": [2, 3, 5, 1], "dtype": "float16", "layout": "nchw"}]}, "symbol": "fused_relax_nn_relu_relax_nn_softmax_clml"}]})

    @R.function
    def fused_relax_nn_relu_relax_nn_softmax_clml(x: R.Tensor((2, 3, 5), dtype="float16")) -> R.Tensor((2, 3, 5), dtype="float16"):
        R.func_attr({"external": "clml"})
        lv: R.Tensor((2, 3, 5), dtype="float16") = R.nn.relu(x)
        gv: R.Tensor((2, 3, 5), dtype="float16") = R.nn.softmax(lv, axis=2)
        return gv

    @R.function
    def main(x: R.Tensor((2, 3, 5), dtype="float16")) -> R.Tensor((2, 3, 5), dtype="float16"):
        with R.dataflow():
            gv = R.call_dps_packed("fused_relax_nn_relu_relax_nn_softmax_clml", (x,), out_ty=R.Tensor((2, 3, 5), dtype="float16"))
            R.output(gv)
        return gv
