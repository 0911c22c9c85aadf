# SPDX-License-Identifier: Apache-2.0
# passes: FuseOpsByPattern{patterns=["testext.*"]}, MergeCompositeFunctions, RunCodegen{target_options={"testext": {"level": 3}}}
# The same of functions that were merged, with the options of the generator.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32"), w: R.Tensor((8, 8), dtype="float32")):
        with R.dataflow():
            lv = R.matmul(x, w)
            gv = R.matmul(lv, w)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_attrs({"external_mods": [{"codegen": "testext", "payload": {"level": 3, "params": 2}, "symbol": "fused_relax_matmul_relax_matmul_testext"}]})

    @R.function
    def fused_relax_matmul_relax_matmul_testext(x: R.Tensor((4, 8), dtype="float32"), w: R.Tensor((8, 8), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
        R.func_attr({"external": "testext"})
        lv: R.Tensor((4, 8), dtype="float32") = R.matmul(x, w, out_dtype="void")
        lv_1: R.Tensor((4, 8), dtype="float32") = R.matmul(lv, w, out_dtype="void")
        return lv_1

    @R.function
    def main(x: R.Tensor((4, 8), dtype="float32"), w: R.Tensor((8, 8), dtype="float32")) -> R.Tensor((4, 8), dtype="float32"):
        with R.dataflow():
            gv = R.call_dps_packed("fused_relax_matmul_relax_matmul_testext", (x, w), out_ty=R.Tensor((4, 8), dtype="float32"))
            R.output(gv)
        return gv
