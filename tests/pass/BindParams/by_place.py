# SPDX-License-Identifier: Apache-2.0
# passes: BindParams{func_name="main", params={"Module['main'].params[1]": "@@DIR@/b.npy"}}
# A parameter named by its place, as a host program would.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((3,), dtype="float32"), w: R.Tensor((3,), dtype="float32")):
        return R.add(x, w)
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((3,), dtype="float32")) -> R.Tensor((3,), dtype="float32"):
        gv: R.Tensor((3,), dtype="float32") = R.add(x, R.const([0.5, -1.0, 2.0], "float32"))
        return gv
