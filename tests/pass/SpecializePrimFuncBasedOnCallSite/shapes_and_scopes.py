# SPDX-License-Identifier: Apache-2.0
# Programs get the shapes and scopes of their calls; other shapes at another call make a copy.
@I.ir_module
class Before:
    I.module_global_infos({"vdevice": [I.vdevice({"kind": "opencl"}, 0, "global.texture"), I.vdevice({"kind": "opencl"}, 0, "global")]})

    @T.prim_func(private=True, s_tir=True)
    def relu(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(4)))
        B = T.match_buffer(b, (n, T.int64(4)))
        for i, j in T.grid(n, T.int64(4)):
            with T.sblock("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.max(A[vi, vj], T.float32(0))

    @R.function(private=True)
    def primitive(x: R.Tensor((9, 4), "float32")) -> R.Tensor((9, 4), "float32"):
        R.func_attr({"Primitive": True})
        return R.call_tir(Before.relu, (x,), out_ty=R.Tensor((9, 4), "float32"))

    @R.function
    def main(x: R.Tensor((2, 4), "float32", vdevice="opencl:1:global"), y: R.Tensor((8, 4), "float32"), z: R.Tensor(ndim=2, dtype="float32")):
        cls = Before
        with R.dataflow():
            a = R.call_tir(cls.relu, (x,), out_ty=R.Tensor((2, 4), "float32", vdevice="opencl:0:global.texture"))
            b = R.call_tir(cls.relu, (y,), out_ty=R.Tensor((8, 4), "float32"))
            c = R.call_tir(cls.relu, (b,), out_ty=R.Tensor((8, 4), "float32"))
            d = R.call_tir(cls.relu, (z,), out_ty=R.Tensor((8, 4), "float32"))
            gv = (a, c, d)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    I.module_global_infos({"vdevice": [I.vdevice("opencl", 0, "global.texture"), I.vdevice("opencl", 0, "global")]})

    @T.prim_func(private=True, s_tir=True)
    def relu(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(4)))
        B = T.match_buffer(b, (n, T.int64(4)))
        # with T.sblock("root"):
        for i, j in T.grid(n, T.int64(4)):
            with T.sblock("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = T.max(A[vi, vj], T.float32(0.0))

    @T.prim_func(private=True, s_tir=True)
    def relu_1(A: T.Buffer((T.int64(2), T.int64(4)), "float32"), B: T.Buffer((T.int64(2), T.int64(4)), "float32", scope="global.texture")):
        T.func_attr({"scoped": 1})
        # with T.sblock("root"):
        for i, j in T.grid(T.int64(2), T.int64(4)):
            with T.sblock("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = T.max(A[vi, vj], T.float32(0.0))

    @T.prim_func(private=True, s_tir=True)
    def relu_2(A: T.Buffer((T.int64(8), T.int64(4)), "float32"), B: T.Buffer((T.int64(8), T.int64(4)), "float32")):
        T.func_attr({"scoped": 1})
        # with T.sblock("root"):
        for i, j in T.grid(T.int64(8), T.int64(4)):
            with T.sblock("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = T.max(A[vi, vj], T.float32(0.0))

    @R.function(private=True)
    def primitive(x: R.Tensor((9, 4), dtype="float32")) -> R.Tensor((9, 4), dtype="float32"):
        R.func_attr({"Primitive": True})
        cls = Expected
        gv = R.call_tir(cls.relu, (x,), out_ty=R.Tensor((9, 4), dtype="float32"))
        return gv

    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32", vdevice="opencl:1:global"), y: R.Tensor((8, 4), dtype="float32"), z: R.Tensor(dtype="float32", ndim=2)) -> R.Tuple(R.Tensor((2, 4), dtype="float32", vdevice="opencl:0:global.texture"), R.Tensor((8, 4), dtype="float32"), R.Tensor((8, 4), dtype="float32")):
        cls = Expected
        with R.dataflow():
            a = R.call_tir(cls.relu_1, (x,), out_ty=R.Tensor((2, 4), dtype="float32", vdevice="opencl:0:global.texture"))
            b = R.call_tir(cls.relu_2, (y,), out_ty=R.Tensor((8, 4), dtype="float32"))
            c = R.call_tir(cls.relu_2, (b,), out_ty=R.Tensor((8, 4), dtype="float32"))
            d = R.call_tir(cls.relu, (z,), out_ty=R.Tensor((8, 4), dtype="float32"))
            gv: R.Tuple(R.Tensor((2, 4), dtype="float32", vdevice="opencl:0:global.texture"), R.Tensor((8, 4), dtype="float32"), R.Tensor((8, 4), dtype="float32")) = (a, c, d)
            R.output(gv)
        return gv
