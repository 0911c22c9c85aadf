# SPDX-License-Identifier: Apache-2.0
# A function that calls another keeps storages of its own: while they are alive, the other one uses the shared ones.
# passes: LegalizeOps, ToNonDataflow, RemovePurityChecking, CallTIRRewrite, StaticPlanBlockMemory, RewriteCUDAGraph
# config: relax.backend.use_cuda_graph=true
@I.ir_module
class Before:
    @R.function(private=True)
    def called(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        a = R.exp(x)
        b = R.tanh(a)
        c = R.negative(b)
        return c
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Before
        a = R.add(x, x)
        b = R.sin(a)
        y: R.Tensor((4,), "float32") = cls.called(x)
        c = R.multiply(b, y)
        d = R.cos(c)
        return d
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def add(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32"), T_add: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(4)):
            with T.sblock("T_add"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0], B[v_ax0])
                T.writes(T_add[v_ax0])
                T_add[v_ax0] = A[v_ax0] + B[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def multiply(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32"), T_multiply: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(4)):
            with T.sblock("T_multiply"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0], B[v_ax0])
                T.writes(T_multiply[v_ax0])
                T_multiply[v_ax0] = A[v_ax0] * B[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def negative(A: T.Buffer((T.int64(4),), "float32"), compute: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(4)):
            with T.sblock("compute"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(compute[v_ax0])
                compute[v_ax0] = T.float32(-0.0) - A[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def tir_cos(A: T.Buffer((T.int64(4),), "float32"), compute: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(4)):
            with T.sblock("compute"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(compute[v_ax0])
                compute[v_ax0] = T.cos(A[v_ax0])

    @T.prim_func(private=True, s_tir=True)
    def tir_exp(A: T.Buffer((T.int64(4),), "float32"), compute: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(4)):
            with T.sblock("compute"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(compute[v_ax0])
                compute[v_ax0] = T.exp(A[v_ax0])

    @T.prim_func(private=True, s_tir=True)
    def tir_sin(A: T.Buffer((T.int64(4),), "float32"), compute: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(4)):
            with T.sblock("compute"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(compute[v_ax0])
                compute[v_ax0] = T.sin(A[v_ax0])

    @T.prim_func(private=True, s_tir=True)
    def tir_tanh(A: T.Buffer((T.int64(4),), "float32"), compute: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(4)):
            with T.sblock("compute"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(compute[v_ax0])
                compute[v_ax0] = T.tanh(A[v_ax0])

    @R.function(private=True)
    def called(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        gv: R.Tuple(R.Any, R.Any) = R.call_builtin_with_ctx("vm.builtin.cuda_graph.get_cached_alloc", (cls.cuda_graph_alloc, R.prim_value(0)), ty_args=(R.Tuple(R.Any, R.Any),))
        storage: R.Any = gv[0]
        alloc: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _: R.Tuple = cls.tir_exp(x, alloc)
        a: R.Tensor((4,), dtype="float32") = alloc
        storage_1: R.Any = gv[1]
        alloc_1: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage_1, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        gv1: R.Tuple(R.Tensor((4,), dtype="float32")) = R.call_builtin_with_ctx("vm.builtin.cuda_graph.run_or_capture", (cls.called_cuda_graph_capture, (a, alloc_1), R.prim_value(0)), ty_args=(R.Tuple(R.Tensor((4,), dtype="float32")),))
        b: R.Tensor((4,), dtype="float32") = gv1[0]
        alloc_2: R.Tensor((4,), dtype="float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        __1: R.Tuple = cls.negative(b, alloc_2)
        c: R.Tensor((4,), dtype="float32") = alloc_2
        return c

    @R.function(private=True)
    def called_cuda_graph_capture(a: R.Tensor((4,), dtype="float32"), alloc: R.Tensor((4,), dtype="float32")) -> R.Tuple(R.Tensor((4,), dtype="float32")):
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        _: R.Tuple = cls.tir_tanh(a, alloc)
        b: R.Tensor((4,), dtype="float32") = alloc
        gv: R.Tuple(R.Tensor((4,), dtype="float32")) = (b,)
        return gv

    @R.function(private=True)
    def cuda_graph_alloc() -> R.Tuple(R.Any, R.Any):
        R.func_attr({"relax.force_pure": True})
        storage: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        storage1: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        gv: R.Tuple(R.Any, R.Any) = (storage, storage1)
        return gv

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        storage: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        alloc: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        _: R.Tuple = cls.add(x, x, alloc)
        a: R.Tensor((4,), dtype="float32") = alloc
        storage_1: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        alloc_1: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage_1, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        __1: R.Tuple = cls.tir_sin(a, alloc_1)
        b: R.Tensor((4,), dtype="float32") = alloc_1
        y: R.Tensor((4,), dtype="float32") = cls.called(x)
        alloc_2: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
        __2: R.Tuple = cls.multiply(b, y, alloc_2)
        c: R.Tensor((4,), dtype="float32") = alloc_2
        alloc_3: R.Tensor((4,), dtype="float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        __3: R.Tuple = cls.tir_cos(c, alloc_3)
        d: R.Tensor((4,), dtype="float32") = alloc_3
        return d
