# SPDX-License-Identifier: Apache-2.0
# A call, a branch or a field that gives a scalar is a value, not an expression of the shape heap.
# passes: RemovePurityChecking, ComputePrimValue, VMShapeLower{emit_err_ctx=False}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), t: R.Tuple(R.Prim("int64"), R.Prim("int64"))) -> R.Prim("int64"):
        n = T.int64()
        large = R.prim_value(n > 3)
        if large:
            r: R.Prim("int64") = R.prim_value(n * 2)
        else:
            field = t[1]
            r: R.Prim("int64") = field
        return r
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def compute_symbolic_expr(n: T.int64) -> T.int64:
        T.func_attr({"tirx.is_host_func": True})
        return n * T.int64(2)

    @T.prim_func(private=True, s_tir=True)
    def compute_symbolic_expr1(n: T.int64) -> T.bool:
        T.func_attr({"tirx.is_host_func": True})
        return n > T.int64(3)

    @R.function
    def main(x: R.Tensor(("n",), dtype="float32"), t: R.Tuple(R.Prim("int64"), R.Prim("int64"))) -> R.Prim("int64"):
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        shape_heap: R.Tensor(dtype="int64", ndim=1) = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (R.prim_value(1),), ty_args=(R.Tensor(dtype="int64", ndim=1),))
        _: R.Tuple = R.call_packed("vm.builtin.check_tensor_info", x, R.prim_value(1), R.dtype("float32"), R.str(""), ty_args=(R.Tuple,))
        __1: R.Tuple = R.call_packed("vm.builtin.check_tuple_info", t, R.prim_value(2), R.str(""), ty_args=(R.Tuple,))
        field: R.Prim("int64") = t[0]
        __2: R.Tuple = R.call_packed("vm.builtin.check_prim_value_info", field, R.dtype("int64"), R.str(""), ty_args=(R.Tuple,))
        field_1: R.Prim("int64") = t[1]
        __3: R.Tuple = R.call_packed("vm.builtin.check_prim_value_info", field_1, R.dtype("int64"), R.str(""), ty_args=(R.Tuple,))
        __4: R.Tuple = R.call_packed("vm.builtin.match_shape", x, shape_heap, R.prim_value(1), R.prim_value(1), R.prim_value(0), R.str(""), ty_args=(R.Tuple,))
        pv: R.Prim("int64") = R.call_packed("vm.builtin.make_prim_value", shape_heap, R.prim_value(1), R.prim_value(0), ty_args=(R.Prim("int64"),))
        large: R.Prim("bool") = cls.compute_symbolic_expr1(pv)
        if large:
            pv_1: R.Prim("int64") = R.call_packed("vm.builtin.make_prim_value", shape_heap, R.prim_value(1), R.prim_value(0), ty_args=(R.Prim("int64"),))
            pv_2: R.Prim("int64") = cls.compute_symbolic_expr(pv_1)
            r: R.Prim("int64") = pv_2
        else:
            field_2: R.Prim("int64") = t[1]
            r: R.Prim("int64") = field_2
        return r
