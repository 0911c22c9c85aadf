# SPDX-License-Identifier: Apache-2.0
# Calls with effects and allocations are made again.
@I.ir_module
class Before:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")):
        a = R.call_packed("random", x, ty_args=R.Tensor((4,), "float32"))
        b = R.call_packed("random", x, ty_args=R.Tensor((4,), "float32"))
        c = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0))
        d = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0))
        e = R.call_pure_packed("f", x, ty_args=R.Tensor((4,), "float32"))
        f = R.call_pure_packed("f", x, ty_args=R.Tensor((4,), "float32"))
        return (a, b, c, d, e, f)
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")):
        a: R.Tensor((4,), dtype="float32") = R.call_packed("random", x, ty_args=(R.Tensor((4,), dtype="float32"),))
        b: R.Tensor((4,), dtype="float32") = R.call_packed("random", x, ty_args=(R.Tensor((4,), dtype="float32"),))
        c: R.Tensor((4,), dtype="float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        d: R.Tensor((4,), dtype="float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        e: R.Tensor((4,), dtype="float32") = R.call_pure_packed("f", x, ty_args=(R.Tensor((4,), dtype="float32"),))
        f: R.Tensor((4,), dtype="float32") = e
        return (a, b, c, d, e, e)
