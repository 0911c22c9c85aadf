# SPDX-License-Identifier: Apache-2.0
# Storages of all functions share slots, each as large as the largest; one that holds the result is its function's own.
# config: relax.backend.use_cuda_graph=true
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2)

    @R.function
    def first(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Before
        storage0: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        a: R.Tensor((4,), "float32") = R.memory.alloc_tensor(storage0, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _0: R.Tuple = cls.twice(x, a)
        storage1: R.Any = R.memory.alloc_storage(R.shape([64]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        b: R.Tensor((4,), "float32") = R.memory.alloc_tensor(storage1, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _1: R.Tuple = cls.twice(a, b)
        storage2: R.Any = R.memory.alloc_storage(R.shape([32]), R.prim_value(0), R.str("shared"), R.dtype("float32"))
        c: R.Tensor((4,), "float32") = R.memory.alloc_tensor(storage2, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _2: R.Tuple = cls.twice(b, c)
        storage3: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        d: R.Tensor((4,), "float32") = R.memory.alloc_tensor(storage3, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _3: R.Tuple = cls.twice(c, d)
        return d

    @R.function
    def second(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Before
        storage0: R.Any = R.memory.alloc_storage(R.shape([128]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        a: R.Tensor((4,), "float32") = R.memory.alloc_tensor(storage0, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _0: R.Tuple = cls.twice(x, a)
        storage1: R.Any = R.memory.alloc_storage(R.shape([32]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        b: R.Tensor((4,), "float32") = R.memory.alloc_tensor(storage1, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _1: R.Tuple = cls.twice(a, b)
        storage2: R.Any = R.memory.alloc_storage(R.shape([64]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        c: R.Tensor((4,), "float32") = R.memory.alloc_tensor(storage2, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _2: R.Tuple = cls.twice(b, c)
        return c

    @R.function
    def third(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Before
        storage0: R.Any = R.memory.alloc_storage(R.shape([100]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        a: R.Tensor((4,), "float32") = R.memory.alloc_tensor(storage0, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _0: R.Tuple = cls.twice(x, a)
        b: R.Tensor((4,), "float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _1: R.Tuple = cls.twice(a, b)
        return b
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
    def cuda_graph_alloc() -> R.Tuple(R.Any, R.Any, R.Any):
        R.func_attr({"relax.force_pure": True})
        storage: R.Any = R.memory.alloc_storage(R.shape([128]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        storage1: R.Any = R.memory.alloc_storage(R.shape([32]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        storage2: R.Any = R.memory.alloc_storage(R.shape([32]), R.prim_value(0), R.str("shared"), R.dtype("float32"))
        gv: R.Tuple(R.Any, R.Any, R.Any) = (storage, storage1, storage2)
        return gv

    @R.function
    def first(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        gv: R.Tuple(R.Any, R.Any, R.Any) = R.call_builtin_with_ctx("vm.builtin.cuda_graph.get_cached_alloc", (cls.cuda_graph_alloc, R.prim_value(0)), ty_args=(R.Tuple(R.Any, R.Any, R.Any),))
        storage0: R.Any = gv[1]
        a: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage0, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _0: R.Tuple = cls.twice(x, a)
        storage1: R.Any = gv[0]
        b: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage1, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        storage2: R.Any = gv[2]
        gv1: R.Tuple(R.Tensor((4,), dtype="float32")) = R.call_builtin_with_ctx("vm.builtin.cuda_graph.run_or_capture", (cls.first_cuda_graph_capture, (a, b, storage2), R.prim_value(0)), ty_args=(R.Tuple(R.Tensor((4,), dtype="float32")),))
        c: R.Tensor((4,), dtype="float32") = gv1[0]
        storage3: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        d: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage3, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _3: R.Tuple = cls.twice(c, d)
        return d

    @R.function(private=True)
    def first_cuda_graph_capture(a: R.Tensor((4,), dtype="float32"), b: R.Tensor((4,), dtype="float32"), storage2: R.Any) -> R.Tuple(R.Tensor((4,), dtype="float32")):
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        _1: R.Tuple = cls.twice(a, b)
        c: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage2, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _2: R.Tuple = cls.twice(b, c)
        gv: R.Tuple(R.Tensor((4,), dtype="float32")) = (c,)
        return gv

    @R.function
    def second(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        gv: R.Tuple(R.Any, R.Any, R.Any) = R.call_builtin_with_ctx("vm.builtin.cuda_graph.get_cached_alloc", (cls.cuda_graph_alloc, R.prim_value(0)), ty_args=(R.Tuple(R.Any, R.Any, R.Any),))
        storage0: R.Any = gv[0]
        a: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage0, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _0: R.Tuple = cls.twice(x, a)
        storage1: R.Any = gv[1]
        b: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage1, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        gv1: R.Tuple = R.call_builtin_with_ctx("vm.builtin.cuda_graph.run_or_capture", (cls.second_cuda_graph_capture, (a, b), R.prim_value(1)), ty_args=(R.Tuple,))
        storage2: R.Any = R.memory.alloc_storage(R.shape([64]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        c: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage2, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _2: R.Tuple = cls.twice(b, c)
        return c

    @R.function(private=True)
    def second_cuda_graph_capture(a: R.Tensor((4,), dtype="float32"), b: R.Tensor((4,), dtype="float32")) -> R.Tuple:
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        _1: R.Tuple = cls.twice(a, b)
        gv: R.Tuple = R.tuple()
        return R.tuple()

    @R.function
    def third(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        gv: R.Tuple(R.Any, R.Any, R.Any) = R.call_builtin_with_ctx("vm.builtin.cuda_graph.get_cached_alloc", (cls.cuda_graph_alloc, R.prim_value(0)), ty_args=(R.Tuple(R.Any, R.Any, R.Any),))
        storage0: R.Any = gv[0]
        a: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage0, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _0: R.Tuple = cls.twice(x, a)
        b: R.Tensor((4,), dtype="float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        _1: R.Tuple = cls.twice(a, b)
        return b
