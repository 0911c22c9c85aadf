# SPDX-License-Identifier: Apache-2.0
# Extents that a hint names may occur in what is captured, and are handed over.
# config: relax.backend.use_cuda_graph=true
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def scale(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32"), n: T.int64):
        for i in range(T.int64(4)):
            y[i] = x[i] * T.Cast("float32", n)

    @R.function
    def main(x: R.Tensor(("n",), "float32"), w: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        n = T.int64()
        R.func_attr({"num_input": 1, "relax.force_pure": True, "relax.rewrite_cuda_graph.capture_symbolic_vars": ["n"]})
        cls = Before
        storage0: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        a: R.Tensor((4,), "float32") = R.memory.alloc_tensor(storage0, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _: R.Tuple = cls.scale(w, a, n)
        storage1: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        b: R.Tensor((4,), "float32") = R.memory.alloc_tensor(storage1, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _1: R.Tuple = cls.scale(a, b, n)
        c = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _2: R.Tuple = cls.scale(b, c, n)
        return c
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True)
    def scale(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32"), n: T.int64):
        for i in range(T.int64(4)):
            y[i] = x[i] * T.Cast("float32", n)

    @R.function(private=True)
    def cuda_graph_alloc() -> R.Tuple(R.Any, R.Any):
        R.func_attr({"relax.force_pure": True})
        storage: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        storage1: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        gv: R.Tuple(R.Any, R.Any) = (storage, storage1)
        return gv

    @R.function(private=True)
    def main_cuda_graph_capture(w: R.Tensor((4,), dtype="float32"), a: R.Tensor((4,), dtype="float32"), storage1: R.Any, shape_expr: R.Shape(["n"])) -> R.Tuple(R.Tensor((4,), dtype="float32")):
        n = T.int64()
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        _: R.Tuple = cls.scale(w, a, n)
        b: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage1, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _1: R.Tuple = cls.scale(a, b, n)
        gv: R.Tuple(R.Tensor((4,), dtype="float32")) = (b,)
        return gv

    @R.function
    def main(x: R.Tensor(("n",), dtype="float32"), w: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        n = T.int64()
        R.func_attr({"num_input": 1, "relax.force_pure": True, "relax.rewrite_cuda_graph.capture_symbolic_vars": ["n"]})
        cls = Expected
        gv: R.Tuple(R.Any, R.Any) = R.call_builtin_with_ctx("vm.builtin.cuda_graph.get_cached_alloc", (cls.cuda_graph_alloc, R.prim_value(0)), ty_args=(R.Tuple(R.Any, R.Any),))
        storage0: R.Any = gv[0]
        a: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage0, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        storage1: R.Any = gv[1]
        gv1: R.Tuple(R.Tensor((4,), dtype="float32")) = R.call_builtin_with_ctx("vm.builtin.cuda_graph.run_or_capture", (cls.main_cuda_graph_capture, (w, a, storage1, R.shape([n])), R.prim_value(0), R.shape([n])), ty_args=(R.Tuple(R.Tensor((4,), dtype="float32")),))
        b: R.Tensor((4,), dtype="float32") = gv1[0]
        c: R.Tensor((4,), dtype="float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _2: R.Tuple = cls.scale(b, c, n)
        return c
