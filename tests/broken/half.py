# SPDX-License-Identifier: Apache-2.0
# In float16, operators taken apart round more often than the whole: 0.001 near 0.01 is no wrong pass.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8, 4, 5, 5), dtype="float16"), w: R.Tensor((5, 5), dtype="float16")):
        with R.dataflow():
            scale = R.astype(R.const([0.545, 0.64, 0.973, 0.296, 0.435], "float32"), dtype="float16")
            shift = R.astype(R.const([0.863, 0.983, 0.896, -0.783, -0.223], "float32"), dtype="float16")
            y = R.nn.layer_norm(R.multiply(R.tanh(x), w), scale, shift, axes=[3], epsilon=0.1)
            gv = R.astype(y, dtype="float32")
            R.output(gv)
        return gv
