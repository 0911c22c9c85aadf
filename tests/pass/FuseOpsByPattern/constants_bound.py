# SPDX-License-Identifier: Apache-2.0
# Constants stay inside the function; a shape bound outside does too.
# passes: FuseOpsByPattern{patterns=["a.f := reshape(add(x, c:const), s)"]}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((1, 2), dtype="float32"):
        with R.dataflow():
            s = R.shape([1, 2])
            lv = R.add(x, R.const([1.0, 2.0], "float32"))
            gv = R.reshape(lv, s)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def fused_relax_add_relax_reshape(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((1, 2), dtype="float32"):
        R.func_attr({"Composite": "a.f", "Primitive": True})
        with R.dataflow():
            lv: R.Tensor((2,), dtype="float32") = R.add(x, R.const([1.0, 2.0], "float32"))
            gv: R.Tensor((1, 2), dtype="float32") = R.reshape(lv, R.shape([1, 2]))
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((1, 2), dtype="float32"):
        cls = Expected
        with R.dataflow():
            s: R.Shape([1, 2]) = R.shape([1, 2])
            gv: R.Tensor((1, 2), dtype="float32") = cls.fused_relax_add_relax_reshape(x)
            R.output(gv)
        return gv
