# SPDX-License-Identifier: Apache-2.0
# entry_functions has to name graph functions.
# passes: FuseOpsByPattern{patterns=["a.f := nn.relu(x)"], entry_functions=[nowhere]}
# error: entry_functions names 'nowhere'
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        with R.dataflow():
            gv = R.nn.relu(x)
            R.output(gv)
        return gv
