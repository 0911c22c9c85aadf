# SPDX-License-Identifier: Apache-2.0
# In the branch with a turn only what stays in it is planned: what goes to the next turn has storage of its own.
# passes: RemovePurityChecking, CallTIRRewrite, StaticPlanBlockMemory
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def step(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("step"):
                vi = T.axis.spatial(T.int64(4), i)
                y[vi] = x[vi] + T.float32(1)

    @R.function(private=True)
    def loop(i: R.Prim("int64"), count: R.Prim("int64"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Before
        if i < count:
            a = R.call_tir(cls.step, (x,), out_ty=R.Tensor((4,), "float32"))
            b = R.call_tir(cls.step, (a,), out_ty=R.Tensor((4,), "float32"))
            next: R.Tensor((4,), "float32") = cls.loop(R.prim_value(i + 1), count, b)
            r = next
        else:
            r = x
        return r
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def step(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        # with T.sblock("root"):
        for i in range(T.int64(4)):
            with T.sblock("step"):
                vi = T.axis.remap("S", [i])
                T.reads(x[vi])
                T.writes(y[vi])
                y[vi] = x[vi] + T.float32(1.0)

    @R.function(private=True)
    def loop(i: R.Prim("int64"), count: R.Prim("int64"), x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Expected
        if R.prim_value(i < count):
            storage: R.Any = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
            alloc: R.Tensor((4,), dtype="float32") = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"), R.prim_value(0))
            _: R.Tuple = cls.step(x, alloc)
            a: R.Tensor((4,), dtype="float32") = alloc
            alloc_1: R.Tensor((4,), dtype="float32") = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
            __1: R.Tuple = cls.step(a, alloc_1)
            b: R.Tensor((4,), dtype="float32") = alloc_1
            next: R.Tensor((4,), dtype="float32") = cls.loop(R.prim_value(i + 1), count, b)
            r: R.Tensor((4,), dtype="float32") = next
        else:
            r: R.Tensor((4,), dtype="float32") = x
        return r
