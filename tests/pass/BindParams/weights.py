# SPDX-License-Identifier: Apache-2.0
# passes: BindParams{func_name="main", params={"w": "@@DIR@/w.npy", "b": "@@DIR@/b.npy", "scale": 3}}
# Arrays and numbers take the place of parameters; symbolic variables become what the arrays have there.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("batch", "n"), "float32"), w: R.Tensor(("n", "m"), "float32"), b: R.Tensor(("m",), "float32"), scale: R.Prim("int64")) -> R.Tensor(("batch", "m"), "float32"):
        batch, n, m = T.int64(), T.int64(), T.int64()
        R.func_attr({"num_input": 1})
        y: R.Tensor((batch, m), "float32") = R.matmul(x, w)
        z: R.Tensor((batch, m), "float32") = R.add(y, b)
        s: R.Tensor((m * 2,), "float32") = R.zeros(R.shape([m * 2]), dtype="float32")
        u = R.call_pure_packed("use", s, scale, ty_args=R.Tensor((m * 2,), "float32"))
        return z
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(("batch", 2), dtype="float32")) -> R.Tensor(("batch", 3), dtype="float32"):
        batch = T.int64()
        R.func_attr({"num_input": 1})
        y: R.Tensor((batch, 3), dtype="float32") = R.matmul(x, R.const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "float32"), out_dtype="void")
        z: R.Tensor((batch, 3), dtype="float32") = R.add(y, R.const([0.5, -1.0, 2.0], "float32"))
        s: R.Tensor((6,), dtype="float32") = R.zeros(R.shape([6]), dtype="float32")
        u: R.Tensor((6,), dtype="float32") = R.call_pure_packed("use", s, R.prim_value(3), ty_args=(R.Tensor((6,), dtype="float32"),))
        return z
