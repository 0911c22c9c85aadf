# SPDX-License-Identifier: Apache-2.0
# A target without the key or library clml: nothing happens.
# target: opencl
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 4), dtype="float32")):
        with R.dataflow():
            gv = R.nn.softmax(x)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 4), dtype="float32")) -> R.Tensor((1, 4), dtype="float32"):
        with R.dataflow():
            gv: R.Tensor((1, 4), dtype="float32") = R.nn.softmax(x, axis=-1)
            R.output(gv)
        return gv
