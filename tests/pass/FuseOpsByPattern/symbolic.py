# SPDX-License-Identifier: Apache-2.0
# Symbolic shapes are renewed in the function; one that no parameter defines is passed.
# passes: FuseOpsByPattern{patterns=["a.f := nn.relu(reshape(x, s))"]}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n * 4",), dtype="float32"):
        n = T.int64()
        with R.dataflow():
            lv = R.reshape(x, R.shape([n * 4]))
            gv = R.nn.relu(lv)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def fused_relax_reshape_relax_nn_relu(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n * 4",), dtype="float32"):
        n = T.int64()
        R.func_attr({"Composite": "a.f", "Primitive": True})
        with R.dataflow():
            lv: R.Tensor((n * 4,), dtype="float32") = R.reshape(x, R.shape([n * 4]))
            gv: R.Tensor((n * 4,), dtype="float32") = R.nn.relu(lv)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n * 4",), dtype="float32"):
        n = T.int64()
        cls = Expected
        with R.dataflow():
            gv: R.Tensor((n * 4,), dtype="float32") = cls.fused_relax_reshape_relax_nn_relu(x)
            R.output(gv)
        return gv
