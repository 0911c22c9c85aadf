# SPDX-License-Identifier: Apache-2.0
# Of weights only what is symbolic is looked at.
# passes: VMShapeLower{emit_err_ctx=False}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), v: R.Tensor((4,), "float32"), w: R.Tensor(("n", 8), "float32"), t: R.Tuple(R.Tensor((2,), "float32"), R.Tensor(("m",), "float32"))) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        m = T.int64()
        R.func_attr({"num_input": 1, "relax.force_pure": True})
        return x
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32"), v: R.Tensor((4,), dtype="float32"), w: R.Tensor(("n", 8), dtype="float32"), t: R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor(("m",), dtype="float32"))) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        m = T.int64()
        R.func_attr({"num_input": 1, "relax.force_pure": True})
        shape_heap: R.Tensor(dtype="int64", ndim=1) = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (R.prim_value(2),), ty_args=(R.Tensor(dtype="int64", ndim=1),))
        _: R.Tuple = R.call_packed("vm.builtin.check_tensor_info", x, R.prim_value(2), R.dtype("float32"), R.str(""), ty_args=(R.Tuple,))
        __1: R.Tuple = R.call_packed("vm.builtin.check_tensor_info", w, R.prim_value(2), R.dtype("float32"), R.str(""), ty_args=(R.Tuple,))
        __2: R.Tuple = R.call_packed("vm.builtin.check_tuple_info", t, R.prim_value(2), R.str(""), ty_args=(R.Tuple,))
        field: R.Tensor((m,), dtype="float32") = t[1]
        __3: R.Tuple = R.call_packed("vm.builtin.check_tensor_info", field, R.prim_value(1), R.dtype("float32"), R.str(""), ty_args=(R.Tuple,))
        __4: R.Tuple = R.call_packed("vm.builtin.match_shape", x, shape_heap, R.prim_value(2), R.prim_value(1), R.prim_value(0), R.prim_value(0), R.prim_value(4), R.str(""), ty_args=(R.Tuple,))
        __5: R.Tuple = R.call_packed("vm.builtin.match_shape", w, shape_heap, R.prim_value(2), R.prim_value(3), R.prim_value(0), R.prim_value(0), R.prim_value(8), R.str(""), ty_args=(R.Tuple,))
        __6: R.Tuple = R.call_packed("vm.builtin.match_shape", field, shape_heap, R.prim_value(1), R.prim_value(1), R.prim_value(1), R.str(""), ty_args=(R.Tuple,))
        return x
