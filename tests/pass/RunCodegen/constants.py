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
