# SPDX-License-Identifier: Apache-2.0
# passes: ToMixedPrecision{out_dtype=int8}
# error: option 'out_dtype' is R.dtype("int8"), expected float16 or float32
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        return x
