# SPDX-License-Identifier: Apache-2.0
@I.ir_module
class Module:
    @R.function
    def main(p: R.Tensor((3, 5), "float32"), u: R.Tensor((6, 1), "float32"), i: R.Tensor((6, 1), "int64")):
        with R.dataflow():
            y = R.multinomial_from_uniform(p, u, i, dtype="int64")
            R.output(y)
        return y
