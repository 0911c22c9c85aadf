# SPDX-License-Identifier: Apache-2.0
# passes: BindSymbolicVars{binding_map={"m": "n + 1"}}
# A call whose result was given a shape that its operator cannot know keeps it.
@I.ir_module
class Before:
    @R.function(pure=False)
    def main(x: R.Tensor(("n", "m"), "float32"), s: R.Shape(ndim=2)) -> R.Tensor(("n", "m"), "float32"):
        n = T.int64()
        m = T.int64()
        sh: R.Shape(ndim=2) = R.call_packed("make_shape", s, ty_args=(R.Shape(ndim=2),))
        lv: R.Tensor((n, m), "float32") = R.emit_with_ty("relax.reshape", (x, sh), (R.Tensor((n, m), "float32"),))
        return lv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(pure=False)
    def main(x: R.Tensor(("n", "n + 1"), dtype="float32"), s: R.Shape(ndim=2)) -> R.Tensor(("n", "n + 1"), dtype="float32"):
        n = T.int64()
        sh: R.Shape(ndim=2) = R.call_packed("make_shape", s, ty_args=(R.Shape(ndim=2),))
        lv: R.Tensor((n, n + 1), dtype="float32") = R.emit_with_ty("relax.reshape", (x, sh), (R.Tensor((n, n + 1), dtype="float32"),))
        return lv
