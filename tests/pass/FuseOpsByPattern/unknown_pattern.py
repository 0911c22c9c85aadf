# SPDX-License-Identifier: Apache-2.0
# A registered pattern that does not exist.
# passes: FuseOpsByPattern{patterns=["nobody.relu"]}
# error: no plugin offers the pattern 'nobody.relu'
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            gv = R.nn.relu(x)
            R.output(gv)
        return gv
