# SPDX-License-Identifier: Apache-2.0
# On a processor nothing changes.
# target: llvm
# passes: LowBatchGemvSpecialize
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def product(x_: T.handle, w: T.Buffer((T.int64(512), T.int64(256)), "float32"), y_: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        x = T.match_buffer(x_, (n, T.int64(1), T.int64(256)), "float32")
        y = T.match_buffer(y_, (n, T.int64(1), T.int64(512)), "float32")
        for i, u, j, k in T.grid(n, T.int64(1), T.int64(512), T.int64(256)):
            with T.sblock("y"):
                vi, vu, vj, vk = T.axis.remap("SSSR", [i, u, j, k])
                with T.init():
                    y[vi, vu, vj] = T.float32(0)
                y[vi, vu, vj] = y[vi, vu, vj] + x[vi, vu, vk] * w[vj, vk]

    @R.function
    def main(x: R.Tensor(("n", 1, 256), "float32"), w: R.Tensor((512, 256), "float32")):
        n = T.int64()
        cls = Before
        with R.dataflow():
            gv = R.call_tir(cls.product, (x, w), out_ty=R.Tensor((n, 1, 512), "float32"))
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def product(x_: T.handle, w: T.Buffer((T.int64(512), T.int64(256)), "float32"), y_: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        x = T.match_buffer(x_, (n, T.int64(1), T.int64(256)))
        y = T.match_buffer(y_, (n, T.int64(1), T.int64(512)))
        # with T.sblock("root"):
        for i, u, j, k in T.grid(n, T.int64(1), T.int64(512), T.int64(256)):
            with T.sblock("y"):
                vi, vu, vj, vk = T.axis.remap("SSSR", [i, u, j, k])
                T.reads(x[vi, vu, vk], w[vj, vk])
                T.writes(y[vi, vu, vj])
                with T.init():
                    y[vi, vu, vj] = T.float32(0.0)
                y[vi, vu, vj] = y[vi, vu, vj] + x[vi, vu, vk] * w[vj, vk]

    @R.function
    def main(x: R.Tensor(("n", 1, 256), dtype="float32"), w: R.Tensor((512, 256), dtype="float32")) -> R.Tensor(("n", 1, 512), dtype="float32"):
        n = T.int64()
        cls = Expected
        with R.dataflow():
            gv = R.call_tir(cls.product, (x, w), out_ty=R.Tensor((n, 1, 512), dtype="float32"))
            R.output(gv)
        return gv
