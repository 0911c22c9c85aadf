# SPDX-License-Identifier: Apache-2.0
# passes: FuseOpsByPattern{patterns=["testext.*"], annotate_codegen=true, bind_constants=false}, RunCodegen
# Arguments that are the same constant in every call are noted: a loader uploads them once.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 2), dtype="float32"), w: R.Tensor((2, 3), dtype="float32")):
        with R.dataflow():
            lv = R.matmul(x, R.const([[1.0, 2.0], [3.0, 4.0]], "float32"))
            lv1 = R.exp(lv)
            gv = R.matmul(lv1, w)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_attrs({"external_mods": [{"codegen": "testext", "payload": {"level": 0, "params": 2}, "symbol": "fused_relax_matmul1_testext"}, {"codegen": "testext", "constants": [1], "payload": {"level": 0, "params": 2}, "symbol": "fused_relax_matmul_testext"}]})

    @R.function
    def fused_relax_matmul1_testext(lv1: R.Tensor((1, 2), dtype="float32"), w: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((1, 3), dtype="float32"):
        R.func_attr({"external": "testext"})
        gv: R.Tensor((1, 3), dtype="float32") = R.matmul(lv1, w, out_dtype="void")
        return gv

    @R.function
    def fused_relax_matmul_testext(x: R.Tensor((1, 2), dtype="float32"), param_0: R.Tensor((2, 2), dtype="float32")) -> R.Tensor((1, 2), dtype="float32"):
        R.func_attr({"external": "testext"})
        lv: R.Tensor((1, 2), dtype="float32") = R.matmul(x, param_0, out_dtype="void")
        return lv

    @R.function
    def main(x: R.Tensor((1, 2), dtype="float32"), w: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((1, 3), dtype="float32"):
        with R.dataflow():
            lv = R.call_dps_packed("fused_relax_matmul_testext", (x, R.const([[1.0, 2.0], [3.0, 4.0]], "float32")), out_ty=R.Tensor((1, 2), dtype="float32"))
            lv1: R.Tensor((1, 2), dtype="float32") = R.exp(lv)
            gv = R.call_dps_packed("fused_relax_matmul1_testext", (lv1, w), out_ty=R.Tensor((1, 3), dtype="float32"))
            R.output(gv)
        return gv
