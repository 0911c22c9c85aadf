# SPDX-License-Identifier: Apache-2.0
# passes: BindSymbolicVars{binding_map={"n": "m * 2"}}
# An expression over other variables of the function.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n + m",), "float32")):
        n = T.int64()
        z: R.Tensor((n * 2,), "float32") = R.zeros(R.shape([n * 2]), dtype="float32")
        return (x, y, z)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(("m * 2", "m"), dtype="float32"), y: R.Tensor(("m * 3",), dtype="float32")) -> R.Tuple(R.Tensor(("m * 2", "m"), dtype="float32"), R.Tensor(("m * 3",), dtype="float32"), R.Tensor(("m * 4",), dtype="float32")):
        m = T.int64()
        z: R.Tensor((m * 4,), dtype="float32") = R.zeros(R.shape([m * 4]), dtype="float32")
        return (x, y, z)
