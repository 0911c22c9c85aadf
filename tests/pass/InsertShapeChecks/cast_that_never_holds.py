# SPDX-License-Identifier: Apache-2.0
# The variable that the cast defines is 16, so 16 + 1 is wanted.
# error: match_cast: extent 1 is 16, expected 17
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((16, 16), "float32")):
        n = T.int64()
        y = R.match_cast(x, R.Tensor((n, n + 1), "float32"))
        return y
