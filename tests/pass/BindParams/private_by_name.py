# SPDX-License-Identifier: Apache-2.0
# passes: BindParams{func_name="inner", params={"b": "@@DIR@/b.npy"}}
# A private function is named by its name in the module; others stay.
@I.ir_module
class Before:
    @R.function(private=True)
    def inner(b: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        return R.exp(b)

    @R.function
    def main(b: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        return R.log(b)
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def inner() -> R.Tensor((3,), dtype="float32"):
        gv: R.Tensor((3,), dtype="float32") = R.exp(R.const([0.5, -1.0, 2.0], "float32"))
        return gv

    @R.function
    def main(b: R.Tensor((3,), dtype="float32")) -> R.Tensor((3,), dtype="float32"):
        gv: R.Tensor((3,), dtype="float32") = R.log(b)
        return gv
