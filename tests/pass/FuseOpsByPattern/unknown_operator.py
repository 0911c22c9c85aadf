# SPDX-License-Identifier: Apache-2.0
# An operator that does not exist is named, with its place.
# passes: FuseOpsByPattern{patterns=["a.f := nn.rellu(x)"]}
# error: column 1: an operator (such as relax.nn.relu) expected
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            gv = R.nn.relu(x)
            R.output(gv)
        return gv
