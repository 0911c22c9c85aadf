# SPDX-License-Identifier: Apache-2.0
# error: match_casts contradict each other: 'b' makes symbolic variable 'n' 4, but 'c' makes it 8
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((8,), "float32")):
        n = T.int64()
        b = R.match_cast(x, R.Tensor((n,), "float32"))
        c = R.match_cast(y, R.Tensor((n,), "float32"))
        return (b, c)
