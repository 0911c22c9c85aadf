# SPDX-License-Identifier: Apache-2.0
# A group with a tensor of unknown extents stays a function of calls.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def relu(x: T.handle, y: T.handle):
        n = T.int64()
        m = T.int64()
        X = T.match_buffer(x, (n, m))
        Y = T.match_buffer(y, (n, m))
        for i, j in T.grid(n, m):
            with T.sblock("relu"):
                v0, v1 = T.axis.remap("SS", [i, j])
                Y[v0, v1] = T.max(X[v0, v1], T.float32(0))

    @R.function(private=True)
    def fused(x: R.Tensor(ndim=2, dtype="float32"), s: R.Shape(["n", "m"])) -> R.Tensor(("n", "m"), dtype="float32"):
        n = T.int64()
        m = T.int64()
        R.func_attr({"Primitive": True})
        cls = Before
        with R.dataflow():
            lv = R.call_tir(cls.relu, (x,), out_ty=R.Tensor((n, m), dtype="float32"))
            gv = R.call_tir(cls.relu, (lv,), out_ty=R.Tensor((n, m), dtype="float32"))
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor(("n", "m"), dtype="float32")) -> R.Tensor(("n", "m"), dtype="float32"):
        n = T.int64()
        m = T.int64()
        cls = Before
        with R.dataflow():
            gv: R.Tensor((n, m), dtype="float32") = cls.fused(x, R.shape([n, m]))
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def relu(x: T.handle, y: T.handle):
        n = T.int64()
        m = T.int64()
        X = T.match_buffer(x, (n, m))
        Y = T.match_buffer(y, (n, m))
        # with T.sblock("root"):
        for i, j in T.grid(n, m):
            with T.sblock("relu"):
                v0, v1 = T.axis.remap("SS", [i, j])
                T.reads(X[v0, v1])
                T.writes(Y[v0, v1])
                Y[v0, v1] = T.max(X[v0, v1], T.float32(0.0))

    @R.function(private=True)
    def fused(x: R.Tensor(dtype="float32", ndim=2), s: R.Shape(["n", "m"])) -> R.Tensor(("n", "m"), dtype="float32"):
        n = T.int64()
        m = T.int64()
        R.func_attr({"Primitive": True})
        cls = Expected
        with R.dataflow():
            lv = R.call_tir(cls.relu, (x,), out_ty=R.Tensor((n, m), dtype="float32"))
            gv = R.call_tir(cls.relu, (lv,), out_ty=R.Tensor((n, m), dtype="float32"))
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor(("n", "m"), dtype="float32")) -> R.Tensor(("n", "m"), dtype="float32"):
        n = T.int64()
        m = T.int64()
        cls = Expected
        with R.dataflow():
            gv: R.Tensor((n, m), dtype="float32") = cls.fused(x, R.shape([n, m]))
            R.output(gv)
        return gv
