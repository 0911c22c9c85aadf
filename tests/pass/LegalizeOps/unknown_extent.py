# SPDX-License-Identifier: Apache-2.0
# A call stays whose result has an extent that is not known, though its operands are.
@I.ir_module
class Before:
    @R.function
    def main(p: R.Prim("float32")):
        gv = R.arange(p, R.prim_value(T.float32(4)), R.prim_value(T.float32(1)), dtype="float32")
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(p: R.Prim("float32")) -> R.Tensor(dtype="float32", ndim=1):
        gv: R.Tensor(dtype="float32", ndim=1) = R.arange(p, R.prim_value(T.float32(4.0)), R.prim_value(T.float32(1.0)), dtype="float32")
        return gv
