# SPDX-License-Identifier: Apache-2.0
# The shape gets fresh variables, which the types behind it take over; in a branch too.
@I.ir_module
class Before:
    @R.function
    def main(t: R.Tensor((2,), "int64"), x: R.Tensor((4, 4), "float32"), cond: R.Tensor((), "bool")):
        s = R.tensor_to_shape(t)
        y = R.reshape(x, s)
        if cond:
            u = R.tensor_to_shape(t)
            out = R.broadcast_to(x, u)
        else:
            out = R.exp(x)
        return y
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(t: R.Tensor((2,), dtype="int64"), x: R.Tensor((4, 4), dtype="float32"), cond: R.Tensor((), dtype="bool")) -> R.Tensor(dtype="float32", ndim=2):
        gv: R.Shape(ndim=2) = R.call_pure_packed("vm.builtin.tensor_to_shape", t, ty_args=(R.Shape(ndim=2),))
        x_1 = T.int64()
        x_2 = T.int64()
        y = R.match_cast(gv, R.Shape([x_1, x_2]))
        s: R.Shape([x_1, x_2]) = R.shape([x_1, x_2])
        y_1: R.Tensor((x_1, x_2), dtype="float32") = R.reshape(x, s)
        if cond:
            gv_1: R.Shape(ndim=2) = R.call_pure_packed("vm.builtin.tensor_to_shape", t, ty_args=(R.Shape(ndim=2),))
            x_3 = T.int64()
            x_4 = T.int64()
            y_2 = R.match_cast(gv_1, R.Shape([x_3, x_4]))
            u: R.Shape([x_3, x_4]) = R.shape([x_3, x_4])
            out_then: R.Tensor((x_3, x_4), dtype="float32") = R.broadcast_to(x, u)
            out: R.Tensor(dtype="float32", ndim=2) = out_then
        else:
            out_else: R.Tensor((4, 4), dtype="float32") = R.exp(x)
            out: R.Tensor(dtype="float32", ndim=2) = out_else
        return y_1
