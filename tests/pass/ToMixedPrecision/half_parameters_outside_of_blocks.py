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
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float16"), w: R.Tensor((4, 3), dtype="float16")) -> R.Tuple(R.Tensor((2, 4), dtype="float32"), R.Tensor((2, 3), dtype="float32"), R.Tensor((4, 3), dtype="float32")):
        x_1: R.Tensor((2, 4), dtype="float32") = R.astype(x, dtype="float32")
        w_1: R.Tensor((4, 3), dtype="float32") = R.astype(w, dtype="float32")
        with R.dataflow():
            y: R.Tensor((2, 3), dtype="float32") = R.matmul(x, w, out_dtype="float32")
            R.output(y)
        z: R.Tensor((4, 3), dtype="float32") = R.exp(w_1)
        return (x_1, y, z)
