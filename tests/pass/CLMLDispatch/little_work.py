# SPDX-License-Identifier: Apache-2.0
# A group with less work than its copies cost stays kernels (min_work, 4 unless told).
# target: {"kind": "opencl", "keys": ["opencl", "gpu", "clml"]}
# passes: CLMLDispatch
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 2, 4, 4), dtype="float32")) -> R.Tensor((1, 2, 4, 4), dtype="float32"):
        with R.dataflow():
            lv = R.nn.relu(x)
            gv = R.nn.softmax(lv, axis=1)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 2, 4, 4), dtype="float32")) -> R.Tensor((1, 2, 4, 4), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((1, 2, 4, 4), dtype="float32") = R.nn.relu(x)
            gv: R.Tensor((1, 2, 4, 4), dtype="float32") = R.nn.softmax(lv, axis=1)
            R.output(gv)
        return gv
