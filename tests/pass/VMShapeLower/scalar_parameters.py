# SPDX-License-Identifier: Apache-2.0
# Expressions over scalar parameters and bound scalars are computed on the shape heap like those over extents.
# passes: RemovePurityChecking, ComputePrimValue, VMShapeLower{emit_err_ctx=False}
@I.ir_module
class Before:
    @R.function(private=True, pure=False)
    def head(i: R.Prim("int64"), x: R.Tensor(("n",), "float32")) -> R.Shape(ndim=2):
        n = T.int64()
        k: R.Prim("int64") = R.call_packed("count", x, ty_args=R.Prim("int64"))
        s = R.shape([T.min(i, n), k * 2])
        return s
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def shape_func(H: T.Buffer((T.int64(5),), "int64")):
        T.func_attr({"tirx.is_host_func": True})
        H[T.int64(1)] = T.min(H[T.int64(2)], H[T.int64(0)])

    @T.prim_func(private=True, s_tir=True)
    def shape_func1(H: T.Buffer((T.int64(5),), "int64")):
        T.func_attr({"tirx.is_host_func": True})
        H[T.int64(3)] = H[T.int64(4)] * T.int64(2)

    @R.function(private=True, pure=False)
    def head(i: R.Prim("int64"), x: R.Tensor(("n",), dtype="float32")) -> R.Shape(ndim=2):
        n = T.int64()
        cls = Expected
        shape_heap: R.Tensor(dtype="int64", ndim=1) = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (R.prim_value(5),), ty_args=(R.Tensor(dtype="int64", ndim=1),))
        _: R.Tuple = R.call_packed("vm.builtin.check_prim_value_info", i, R.dtype("int64"), R.str(""), ty_args=(R.Tuple,))
        __1: R.Tuple = R.call_packed("vm.builtin.check_tensor_info", x, R.prim_value(1), R.dtype("float32"), R.str(""), ty_args=(R.Tuple,))
        __2: R.Tuple = R.call_packed("vm.builtin.match_prim_value", i, shape_heap, R.prim_value(1), R.prim_value(2), R.str(""), ty_args=(R.Tuple,))
        __3: R.Tuple = R.call_packed("vm.builtin.match_shape", x, shape_heap, R.prim_value(1), R.prim_value(1), R.prim_value(0), R.str(""), ty_args=(R.Tuple,))
        __4: R.Tuple = cls.shape_func(shape_heap)
        k: R.Prim("int64") = R.call_packed("count", x, ty_args=(R.Prim("int64"),))
        __5: R.Tuple = R.call_packed("vm.builtin.match_prim_value", k, shape_heap, R.prim_value(1), R.prim_value(4), R.str(""), ty_args=(R.Tuple,))
        __6: R.Tuple = cls.shape_func1(shape_heap)
        s: R.Shape([T.min(i, n), k * 2]) = R.call_packed("vm.builtin.make_shape", shape_heap, R.prim_value(2), R.prim_value(1), R.prim_value(1), R.prim_value(1), R.prim_value(3), ty_args=(R.Shape(ndim=2),))
        return s
