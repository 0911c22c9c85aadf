# SPDX-License-Identifier: Apache-2.0
# Mistakes in the notation are located.
# passes: FuseOpsByPattern{patterns=["a.f := add(nn.relu(x), y"]}
# error: column 18: ',' or ')' expected, found the end
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            gv = R.nn.relu(x)
            R.output(gv)
        return gv
