# SPDX-License-Identifier: Apache-2.0
# Kernels on inner storages are captured; the one that reads the input and the one that writes the result are not.
# config: relax.backend.use_cuda_graph=true
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Before
        storage: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        a: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _: R.Tuple = cls.twice(x, a)
        storage1: R.Any = R.memory.alloc_storage(R.shape([32]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        b: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage1, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _1: R.Tuple = cls.twice(a, b)
        c: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _2: R.Tuple = cls.twice(b, c)
        d: R.Tensor((4,), dtype="float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _3: R.Tuple = cls.twice(c, d)
        return d


# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True)
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2.0)

    @R.function(private=True)
    def cuda_graph_alloc() -> R.Tuple(R.Any, R.Any):
        R.func_attr({"relax.force_pure": True})
        storage: R.Any = R.memory.alloc_storage(R.shape([32]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        storage1: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        gv: R.Tuple(R.Any, R.Any) = (storage, storage1)
        return gv

    @R.function(private=True)
    def main_cuda_graph_capture(a: R.Tensor((4,), dtype="float32"), b: R.Tensor((4,), dtype="float32"), storage: R.Any) -> R.Tuple(R.Tensor((4,), dtype="float32")):
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        _1: R.Tuple = cls.twice(a, b)
        c: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _2: R.Tuple = cls.twice(b, c)
        gv: R.Tuple(R.Tensor((4,), dtype="float32")) = (c,)
        return gv

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        gv: R.Tuple(R.Any, R.Any) = R.call_builtin_with_ctx("vm.builtin.cuda_graph.get_cached_alloc", (cls.cuda_graph_alloc, R.prim_value(0)), ty_args=(R.Tuple(R.Any, R.Any),))
        storage: R.Any = gv[1]
        a: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _: R.Tuple = cls.twice(x, a)
        storage1: R.Any = gv[0]
        b: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage1, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        gv1: R.Tuple(R.Tensor((4,), dtype="float32")) = R.call_builtin_with_ctx("vm.builtin.cuda_graph.run_or_capture", (cls.main_cuda_graph_capture, (a, b, storage), R.prim_value(0)), ty_args=(R.Tuple(R.Tensor((4,), dtype="float32")),))
        c: R.Tensor((4,), dtype="float32") = gv1[0]
        d: R.Tensor((4,), dtype="float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _3: R.Tuple = cls.twice(c, d)
        return d
