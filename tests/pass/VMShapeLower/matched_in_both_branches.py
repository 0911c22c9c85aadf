# SPDX-License-Identifier: Apache-2.0
# What one branch matches is not known in the other: both store the variable and compute what is made of it.
# passes: VMShapeLower{emit_err_ctx=false}
@I.ir_module
class Before:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor(ndim=1, dtype="float32")) -> R.Shape(ndim=1):
        R.func_attr({"relax.force_pure": True})
        n = T.int64()
        if c:
            y = R.match_cast(x, R.Tensor((n,), "float32"))
            s: R.Shape(ndim=1) = R.shape([n * 2])
        else:
            z = R.match_cast(x, R.Tensor((n,), "float32"))
            s: R.Shape(ndim=1) = R.shape([n * 2])
        return s
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def shape_func(H: T.Buffer((T.int64(2),), "int64")):
        T.func_attr({"tirx.is_host_func": True})
        H[T.int64(1)] = H[T.int64(0)] * T.int64(2)

    @R.function
    def main(c: R.Tensor((), dtype="bool"), x: R.Tensor(dtype="float32", ndim=1)) -> R.Shape(ndim=1):
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        shape_heap: R.Tensor(dtype="int64", ndim=1) = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (R.prim_value(2),), ty_args=(R.Tensor(dtype="int64", ndim=1),))
        _: R.Tuple = R.call_packed("vm.builtin.check_tensor_info", c, R.prim_value(0), R.dtype("bool"), R.str(""), ty_args=(R.Tuple,))
        __1: R.Tuple = R.call_packed("vm.builtin.check_tensor_info", x, R.prim_value(1), R.dtype("float32"), R.str(""), ty_args=(R.Tuple,))
        __2: R.Tuple = R.call_packed("vm.builtin.match_shape", c, shape_heap, R.prim_value(0), R.str(""), ty_args=(R.Tuple,))
        if c:
            __3: R.Tuple = R.call_packed("vm.builtin.match_shape", x, shape_heap, R.prim_value(1), R.prim_value(1), R.prim_value(0), R.str(""), ty_args=(R.Tuple,))
            __4: R.Tuple = cls.shape_func(shape_heap)
            n = T.int64()
            y = R.match_cast(x, R.Tensor((n,), dtype="float32"))
            sh: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", shape_heap, R.prim_value(1), R.prim_value(1), R.prim_value(1), ty_args=(R.Shape(ndim=1),))
            s: R.Shape(ndim=1) = sh
        else:
            __5: R.Tuple = R.call_packed("vm.builtin.match_shape", x, shape_heap, R.prim_value(1), R.prim_value(1), R.prim_value(0), R.str(""), ty_args=(R.Tuple,))
            __6: R.Tuple = cls.shape_func(shape_heap)
            z = R.match_cast(x, R.Tensor((n,), dtype="float32"))
            sh_1: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", shape_heap, R.prim_value(1), R.prim_value(1), R.prim_value(1), ty_args=(R.Shape(ndim=1),))
            s: R.Shape(ndim=1) = sh_1
        return s
