# SPDX-License-Identifier: Apache-2.0
# The kernels want columns.
# passes: DispatchSampling
# error: wants probabilities of rank 2
@I.ir_module
class Before:
    @R.function
    def main(prob: R.Tensor((3, 5), dtype="float32"), u: R.Tensor(("n", "k"), dtype="float32"), rows: R.Tensor(("n", 1), dtype="int64")):
        with R.dataflow():
            gv = R.multinomial_from_uniform(prob, u, rows, dtype="int64")
            R.output(gv)
        return gv
