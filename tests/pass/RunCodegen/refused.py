# SPDX-License-Identifier: Apache-2.0
# passes: FuseOpsByPattern{patterns=["testext.*"], annotate_codegen=true}, RunCodegen
# error: the code generator 'testext' refused the function
# A function that the generator does not support is an error.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4, 8), dtype="float16"), w: R.Tensor((8, 8), dtype="float16"), b: R.Tensor((8,), dtype="float16")):
        with R.dataflow():
            lv = R.matmul(x, w)
            lv1 = R.add(lv, b)
            lv2 = R.nn.relu(lv1)
            lv3 = R.exp(lv2)
            gv = R.matmul(lv3, w)
            R.output(gv)
        return gv
