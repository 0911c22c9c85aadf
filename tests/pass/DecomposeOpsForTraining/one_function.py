# SPDX-License-Identifier: Apache-2.0
# passes: DecomposeOpsForTraining{func_name="other"}
# Only the function named.
@I.ir_module
class Before:
    @R.function
    def other(x: R.Tensor((2, 4), "float32"), w: R.Tensor((4,), "float32")):
        return R.nn.layer_norm(x, w, w, axes=[-1])

    @R.function
    def main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((4,), "float32")):
        return R.nn.layer_norm(x, w, w, axes=[-1])
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def other(x: R.Tensor((2, 4), dtype="float32"), w: R.Tensor((4,), dtype="float32")) -> R.Tensor((2, 4), dtype="float32"):
        gv: R.Tensor((2, 1), dtype="float32") = R.mean(x, axis=[-1], keepdims=True)
        gv_1: R.Tensor((2, 4), dtype="float32") = R.subtract(x, gv)
        gv_2: R.Tensor((2, 1), dtype="float32") = R.variance(x, axis=[-1], keepdims=True)
        gv_3: R.Tensor((2, 1), dtype="float32") = R.add(gv_2, R.const(1e-05, "float32"))
        gv_4: R.Tensor((2, 1), dtype="float32") = R.sqrt(gv_3)
        gv_5: R.Tensor((2, 4), dtype="float32") = R.divide(gv_1, gv_4)
        gv_6: R.Tensor((2, 4), dtype="float32") = R.multiply(gv_5, w)
        gv_7: R.Tensor((2, 4), dtype="float32") = R.add(gv_6, w)
        return gv_7

    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), w: R.Tensor((4,), dtype="float32")) -> R.Tensor((2, 4), dtype="float32"):
        gv: R.Tensor((2, 4), dtype="float32") = R.nn.layer_norm(x, w, w, axes=[-1], epsilon=1e-05, center=True, scale=True)
        return gv
