# SPDX-License-Identifier: Apache-2.0
# What is known of k is s, and of s that it is n: k is n, also where s is gone.
# passes: CanonicalizeBindings
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(dtype="float32", ndim=2):
        n = T.int64()
        s = T.int64()
        k = T.int64()
        y = R.match_cast(x, R.Tensor((s, 4), dtype="float32"))
        z = R.nn.relu(y)
        u = R.match_cast(z, R.Tensor((k, 4), dtype="float32"))
        v = R.nn.relu(u)
        w = R.add(v, R.astype(R.full(R.shape([k, 4]), R.const(1, "int64"), dtype="int64"), "float32"))
        return w
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        z: R.Tensor((n, 4), dtype="float32") = R.nn.relu(x)
        v: R.Tensor((n, 4), dtype="float32") = R.nn.relu(z)
        gv: R.Tensor((n, 4), dtype="int64") = R.full(R.shape([n, 4]), R.const(1, "int64"), dtype="int64")
        gv_1: R.Tensor((n, 4), dtype="float32") = R.astype(gv, dtype="float32")
        w: R.Tensor((n, 4), dtype="float32") = R.add(v, gv_1)
        return w
