# SPDX-License-Identifier: Apache-2.0
# A function that is to become one kernel stays as it is.
# target: opencl
@I.ir_module
class Before:
    @R.function(private=True)
    def main(x: R.Tensor((1, 8, 16, 16, 4), "float32")):
        R.func_attr({"Primitive": True})
        with R.dataflow():
            y = R.nn.max_pool2d(x, pool_size=[2, 2], layout="NCHW4c")
            R.output(y)
        return y
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def main(x: R.Tensor((1, 8, 16, 16, 4), dtype="float32")) -> R.Tensor((1, 8, 15, 15, 4), dtype="float32"):
        R.func_attr({"Primitive": True})
        with R.dataflow():
            y: R.Tensor((1, 8, 15, 15, 4), dtype="float32") = R.nn.max_pool2d(x, pool_size=[2, 2], strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], ceil_mode=False, count_include_pad=False, layout="NCHW4c", out_layout="NCHW4c")
            R.output(y)
        return y
