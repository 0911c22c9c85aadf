# SPDX-License-Identifier: Apache-2.0
# With bind_constants=false, constants become parameters.
# passes: FuseOpsByPattern{patterns=["a.add := add(x, c:const)"], bind_constants=false}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        with R.dataflow():
            gv = R.add(x, R.const([1.0, 2.0], "float32"))
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def fused_relax_add(x: R.Tensor((2,), dtype="float32"), param_0: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        R.func_attr({"Composite": "a.add", "Primitive": True})
        with R.dataflow():
            gv: R.Tensor((2,), dtype="float32") = R.add(x, param_0)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            gv: R.Tensor((2,), dtype="float32") = cls.fused_relax_add(x, R.const([1.0, 2.0], "float32"))
            R.output(gv)
        return gv
