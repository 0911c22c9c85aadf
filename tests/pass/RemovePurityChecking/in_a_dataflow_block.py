# SPDX-License-Identifier: Apache-2.0
# A dataflow block cannot hold an impure call.
# error: a dataflow block cannot hold this call without its mark of purity
# at: 10
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            lv = R.call_pure_packed("f", x, ty_args=(R.Tensor((4,), "float32"),))
            gv = R.exp(lv)
            R.output(gv)
        return gv
