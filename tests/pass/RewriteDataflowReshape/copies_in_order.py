# SPDX-License-Identifier: Apache-2.0
# Programs that copy one of their tensors element for element become R.reshape: in the loops that a schedule left, and beside tensors that are not read. A transpose does not, nor does an output of the block.
@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def flatten(x: T.Buffer((T.int64(4), T.int64(6)), "float32"), y: T.Buffer((T.int64(24),), "float32")):
        for i in range(T.int64(24)):
            with T.sblock("flatten"):
                vi = T.axis.spatial(T.int64(24), i)
                y[vi] = x[vi // T.int64(6), vi % T.int64(6)]

    @T.prim_func(private=True, s_tir=True)
    def second(a: T.Buffer((T.int64(3),), "float32"), x: T.Buffer((T.int64(24),), "float32"), y: T.Buffer((T.int64(2), T.int64(12)), "float32")):
        for i in T.thread_binding(T.int64(24), thread="threadIdx.x"):
            with T.sblock("second"):
                v0 = T.axis.spatial(T.int64(2), i // T.int64(12))
                v1 = T.axis.spatial(T.int64(12), i % T.int64(12))
                y[v0, v1] = x[v0 * T.int64(12) + v1]

    @T.prim_func(private=True, s_tir=True)
    def transpose(x: T.Buffer((T.int64(2), T.int64(12)), "float32"), y: T.Buffer((T.int64(12), T.int64(2)), "float32")):
        for i, j in T.grid(T.int64(12), T.int64(2)):
            with T.sblock("transpose"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vj, vi]

    @R.function
    def main(x: R.Tensor((4, 6), dtype="float32"), a: R.Tensor((3,), dtype="float32")) -> R.Tensor((24,), dtype="float32"):
        cls = Before
        with R.dataflow():
            lv = R.call_tir(cls.flatten, (x,), out_ty=R.Tensor((24,), dtype="float32"))
            lv1 = R.call_tir(cls.second, (a, lv), out_ty=R.Tensor((2, 12), dtype="float32"))
            lv2 = R.call_tir(cls.transpose, (lv1,), out_ty=R.Tensor((12, 2), dtype="float32"))
            lv3 = R.reshape(lv2, R.shape([4, 6]))
            gv = R.call_tir(cls.flatten, (lv3,), out_ty=R.Tensor((24,), dtype="float32"))
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def flatten(x: T.Buffer((T.int64(4), T.int64(6)), "float32"), y: T.Buffer((T.int64(24),), "float32")):
        # with T.sblock("root"):
        for i in range(T.int64(24)):
            with T.sblock("flatten"):
                vi = T.axis.remap("S", [i])
                T.reads(x[vi // T.int64(6), vi % T.int64(6)])
                T.writes(y[vi])
                y[vi] = x[vi // T.int64(6), vi % T.int64(6)]

    @T.prim_func(private=True, s_tir=True)
    def second(a: T.Buffer((T.int64(3),), "float32"), x: T.Buffer((T.int64(24),), "float32"), y: T.Buffer((T.int64(2), T.int64(12)), "float32")):
        # with T.sblock("root"):
        for i in T.thread_binding(T.int64(24), thread="threadIdx.x"):
            with T.sblock("second"):
                v0 = T.axis.spatial(T.int64(2), i // T.int64(12))
                v1 = T.axis.spatial(T.int64(12), i % T.int64(12))
                T.reads(x[v0 * T.int64(12) + v1])
                T.writes(y[v0, v1])
                y[v0, v1] = x[v0 * T.int64(12) + v1]

    @T.prim_func(private=True, s_tir=True)
    def transpose(x: T.Buffer((T.int64(2), T.int64(12)), "float32"), y: T.Buffer((T.int64(12), T.int64(2)), "float32")):
        # with T.sblock("root"):
        for i, j in T.grid(T.int64(12), T.int64(2)):
            with T.sblock("transpose"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(x[vj, vi])
                T.writes(y[vi, vj])
                y[vi, vj] = x[vj, vi]

    @R.function
    def main(x: R.Tensor((4, 6), dtype="float32"), a: R.Tensor((3,), dtype="float32")) -> R.Tensor((24,), dtype="float32"):
        cls = Expected
        with R.dataflow():
            lv: R.Tensor((24,), dtype="float32") = R.reshape(x, R.shape([24]))
            lv1: R.Tensor((2, 12), dtype="float32") = R.reshape(lv, R.shape([2, 12]))
            lv2 = R.call_tir(cls.transpose, (lv1,), out_ty=R.Tensor((12, 2), dtype="float32"))
            lv3: R.Tensor((4, 6), dtype="float32") = R.reshape(lv2, R.shape([4, 6]))
            gv = R.call_tir(cls.flatten, (lv3,), out_ty=R.Tensor((24,), dtype="float32"))
            R.output(gv)
        return gv
