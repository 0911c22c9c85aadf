# SPDX-License-Identifier: Apache-2.0
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3, 4, 4), dtype="float32"), g: R.Tensor((3,), dtype="float32"), b: R.Tensor((3,), dtype="float32"),
             m: R.Tensor((3,), dtype="float32"), v: R.Tensor((3,), dtype="float32")):
        with R.dataflow():
            y = R.nn.batch_norm(x, g, b, m, v, axis=1, training=False)
            gv = y
            R.output(gv)
        return gv
