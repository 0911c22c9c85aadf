# SPDX-License-Identifier: Apache-2.0
# passes: ToMixedPrecision{fp16_input_names=["x", "w"]}
# A parameter that becomes float16 is widened for what stands outside of dataflow blocks.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), w: R.Tensor((4, 3), dtype="float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            R.output(y)
        z = R.exp(w)
        return (x, y, z)
