# SPDX-License-Identifier: Apache-2.0
# Columns of unknown extents are refused.
# passes: DispatchSampling
# error: wants probabilities of rank 2
@I.ir_module
class Before:
    @R.function
    def main(prob: R.Tensor((3, 5), dtype="float32"), u: R.Tensor(dtype="float32", ndim=2), rows: R.Tensor(dtype="int64", ndim=2)):
        with R.dataflow():
            gv = R.multinomial_from_uniform(prob, u, rows, dtype="int64")
            R.output(gv)
        return gv
