# SPDX-License-Identifier: Apache-2.0
# passes: FuseOpsByPattern{patterns=["testext.*"], annotate_codegen=true}, RunCodegen{entry_functions=["kept"]}
# Afterwards only functions stay that public ones or those of entry_functions reach.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32"), w: R.Tensor((8, 8), dtype="float32"), b: R.Tensor((8,), dtype="float32")):
        with R.dataflow():
            lv = R.matmul(x, w)
            lv1 = R.add(lv, b)
            lv2 = R.nn.relu(lv1)
            lv3 = R.exp(lv2)
            gv = R.matmul(lv3, w)
            R.output(gv)
        return gv

    @R.function(private=True)
    def spare(x: R.Tensor((4,), dtype="float32")):
        return x

    @R.function(private=True)
    def kept(x: R.Tensor((4,), dtype="float32")):
        y = R.exp(x)
        return y
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_attrs({"external_mods": [{"codegen": "testext", "payload": {"level": 0, "params": 3}, "symbol": "fused_relax_matmul_relax_add_relax_nn_relu_testext"}, {"codegen": "testext", "payload": {"level": 0, "params": 2}, "symbol": "fused_relax_matmul_testext"}]})

    @R.function
    def fused_relax_matmul_relax_add_relax_nn_relu_testext(x: R.Tensor((4, 8), dtype="float32"), w: R.Tensor((8, 8), dtype="float32"), b: R.Tensor((8,), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
        R.func_attr({"external": "testext"})
        lv: R.Tensor((4, 8), dtype="float32") = R.matmul(x, w, out_dtype="void")
        lv1: R.Tensor((4, 8), dtype="float32") = R.add(lv, b)
        lv2: R.Tensor((4, 8), dtype="float32") = R.nn.relu(lv1)
        return lv2

    @R.function
    def fused_relax_matmul_testext(lv3: R.Tensor((4, 8), dtype="float32"), w: R.Tensor((8, 8), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
        R.func_attr({"external": "testext"})
        gv: R.Tensor((4, 8), dtype="float32") = R.matmul(lv3, w, out_dtype="void")
        return gv

    @R.function(private=True)
    def kept(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        y: R.Tensor((4,), dtype="float32") = R.exp(x)
        return y

    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32"), w: R.Tensor((8, 8), dtype="float32"), b: R.Tensor((8,), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
        with R.dataflow():
            lv2 = R.call_dps_packed("fused_relax_matmul_relax_add_relax_nn_relu_testext", (x, w, b), out_ty=R.Tensor((4, 8), dtype="float32"))
            lv3: R.Tensor((4, 8), dtype="float32") = R.exp(lv2)
            gv = R.call_dps_packed("fused_relax_matmul_testext", (lv3, w), out_ty=R.Tensor((4, 8), dtype="float32"))
            R.output(gv)
        return gv
