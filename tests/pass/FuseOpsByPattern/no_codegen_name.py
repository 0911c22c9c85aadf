# SPDX-License-Identifier: Apache-2.0
# A composite name has to begin with a codegen's.
# passes: FuseOpsByPattern{patterns=["relu := nn.relu(x)"]}
# error: does not begin with the name of a codegen
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            gv = R.nn.relu(x)
            R.output(gv)
        return gv
