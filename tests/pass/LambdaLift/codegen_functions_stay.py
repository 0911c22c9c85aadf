# SPDX-License-Identifier: Apache-2.0
# Functions for a code generator hold composite functions on purpose.
@I.ir_module
class Before:
    @R.function
    def fused_relu(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        R.func_attr({"Codegen": "byoc"})
        @R.function
        def composite(a: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
            R.func_attr({"Composite": "byoc.relu"})
            with R.dataflow():
                gv: R.Tensor((2,), dtype="float32") = R.nn.relu(a)
                R.output(gv)
            return gv
        y: R.Tensor((2,), dtype="float32") = composite(x)
        return y
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def fused_relu(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        R.func_attr({"Codegen": "byoc"})
        @R.function
        def composite(a: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
            R.func_attr({"Composite": "byoc.relu"})
            with R.dataflow():
                gv: R.Tensor((2,), dtype="float32") = R.nn.relu(a)
                R.output(gv)
            return gv
        y: R.Tensor((2,), dtype="float32") = composite(x)
        return y
