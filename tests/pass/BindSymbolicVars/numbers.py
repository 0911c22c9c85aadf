# SPDX-License-Identifier: Apache-2.0
# passes: BindSymbolicVars{binding_map={"n": 16, "k": 2}}
# In all functions that have the variables; dimensions are simplified.
@I.ir_module
class Before:
    @R.function(private=True)
    def other(y: R.Tensor(("n + 1", "n"), "float32")) -> R.Tensor(("n + 1", "n"), "float32"):
        return y

    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(ndim=1, dtype="float32")) -> R.Tensor(("n * m",), "float32"):
        n, m, k = T.int64(), T.int64(), T.int64()
        z = R.match_cast(y, R.Tensor((k,), "float32"))
        w: R.Tensor((n * m,), "float32") = R.reshape(x, R.shape([n * m]))
        v = R.call_pure_packed("f", w, R.prim_value(n + k), ty_args=R.Tensor((n * m,), "float32"))
        return v
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(private=True)
    def other(y: R.Tensor((17, 16), dtype="float32")) -> R.Tensor((17, 16), dtype="float32"):
        return y

    @R.function
    def main(x: R.Tensor((16, "m"), dtype="float32"), y: R.Tensor(dtype="float32", ndim=1)) -> R.Tensor(("m * 16",), dtype="float32"):
        m = T.int64()
        z = R.match_cast(y, R.Tensor((2,), dtype="float32"))
        w: R.Tensor((m * 16,), dtype="float32") = R.reshape(x, R.shape([m * 16]))
        v: R.Tensor((m * 16,), dtype="float32") = R.call_pure_packed("f", w, R.prim_value(18), ty_args=(R.Tensor((m * 16,), dtype="float32"),))
        return v
