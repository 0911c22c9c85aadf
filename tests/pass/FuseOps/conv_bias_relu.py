# SPDX-License-Identifier: Apache-2.0
# An out-elementwise-fusable kernel takes its elementwise consumers along; the result keeps its variable.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def add(x: T.Buffer((T.int64(2), T.int64(8)), "float32"), y: T.Buffer((T.int64(8),), "float32"), z: T.Buffer((T.int64(2), T.int64(8)), "float32")):
        T.func_attr({"op_pattern": 1})
        for i, j in T.grid(T.int64(2), T.int64(8)):
            with T.sblock("add"):
                vi, vj = T.axis.remap("SS", [i, j])
                z[vi, vj] = x[vi, vj] + y[vj]

    @T.prim_func(private=True, s_tir=True)
    def dense(x: T.Buffer((T.int64(2), T.int64(4)), "float32"), w: T.Buffer((T.int64(4), T.int64(8)), "float32"), z: T.Buffer((T.int64(2), T.int64(8)), "float32")):
        T.func_attr({"op_pattern": 4})
        for i, j, k in T.grid(T.int64(2), T.int64(8), T.int64(4)):
            with T.sblock("dense"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    z[vi, vj] = T.float32(0)
                z[vi, vj] = z[vi, vj] + x[vi, vk] * w[vk, vj]

    @T.prim_func(private=True, s_tir=True)
    def relu(x: T.Buffer((T.int64(2), T.int64(8)), "float32"), z: T.Buffer((T.int64(2), T.int64(8)), "float32")):
        T.func_attr({"op_pattern": 0})
        for i, j in T.grid(T.int64(2), T.int64(8)):
            with T.sblock("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                z[vi, vj] = T.max(x[vi, vj], T.float32(0))

    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), w: R.Tensor((4, 8), dtype="float32"), b: R.Tensor((8,), dtype="float32")) -> R.Tensor((2, 8), dtype="float32"):
        cls = Before
        with R.dataflow():
            lv = R.call_tir(cls.dense, (x, w), out_ty=R.Tensor((2, 8), dtype="float32"))
            lv1 = R.call_tir(cls.relu, (lv,), out_ty=R.Tensor((2, 8), dtype="float32"))
            gv = R.call_tir(cls.add, (lv1, b), out_ty=R.Tensor((2, 8), dtype="float32"))
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def add(x: T.Buffer((T.int64(2), T.int64(8)), "float32"), y: T.Buffer((T.int64(8),), "float32"), z: T.Buffer((T.int64(2), T.int64(8)), "float32")):
        T.func_attr({"op_pattern": 1})
        # with T.sblock("root"):
        for i, j in T.grid(T.int64(2), T.int64(8)):
            with T.sblock("add"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(x[vi, vj], y[vj])
                T.writes(z[vi, vj])
                z[vi, vj] = x[vi, vj] + y[vj]

    @T.prim_func(private=True, s_tir=True)
    def dense(x: T.Buffer((T.int64(2), T.int64(4)), "float32"), w: T.Buffer((T.int64(4), T.int64(8)), "float32"), z: T.Buffer((T.int64(2), T.int64(8)), "float32")):
        T.func_attr({"op_pattern": 4})
        # with T.sblock("root"):
        for i, j, k in T.grid(T.int64(2), T.int64(8), T.int64(4)):
            with T.sblock("dense"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(x[vi, vk], w[vk, vj])
                T.writes(z[vi, vj])
                with T.init():
                    z[vi, vj] = T.float32(0.0)
                z[vi, vj] = z[vi, vj] + x[vi, vk] * w[vk, vj]

    @T.prim_func(private=True, s_tir=True)
    def relu(x: T.Buffer((T.int64(2), T.int64(8)), "float32"), z: T.Buffer((T.int64(2), T.int64(8)), "float32")):
        T.func_attr({"op_pattern": 0})
        # with T.sblock("root"):
        for i, j in T.grid(T.int64(2), T.int64(8)):
            with T.sblock("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(x[vi, vj])
                T.writes(z[vi, vj])
                z[vi, vj] = T.max(x[vi, vj], T.float32(0.0))

    @R.function(private=True)
    def fused_dense_relu(x: R.Tensor((2, 4), dtype="float32"), w: R.Tensor((4, 8), dtype="float32")) -> R.Tensor((2, 8), dtype="float32"):
        R.func_attr({"Primitive": True})
        cls = Expected
        with R.dataflow():
            lv = R.call_tir(cls.dense, (x, w), out_ty=R.Tensor((2, 8), dtype="float32"))
            lv1 = R.call_tir(cls.relu, (lv,), out_ty=R.Tensor((2, 8), dtype="float32"))
            R.output(lv1)
        return lv1

    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32"), w: R.Tensor((4, 8), dtype="float32"), b: R.Tensor((8,), dtype="float32")) -> R.Tensor((2, 8), dtype="float32"):
        cls = Expected
        with R.dataflow():
            lv1: R.Tensor((2, 8), dtype="float32") = cls.fused_dense_relu(x, w)
            gv = R.call_tir(cls.add, (lv1, b), out_ty=R.Tensor((2, 8), dtype="float32"))
            R.output(gv)
        return gv
