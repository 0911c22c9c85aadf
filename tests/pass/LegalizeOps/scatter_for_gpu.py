# SPDX-License-Identifier: Apache-2.0
# target: opencl
# Elements look for their updates where these would be few threads: single elements, short rows. Long rows stay as they are.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((6, 5), "float32"), i: R.Tensor(("n", 2), "int64"), u: R.Tensor(("n",), "float32"), j: R.Tensor((4, 3), "int64"), v: R.Tensor((4, 3), "float32"), y: R.Tensor((4, 300), "float32"), k: R.Tensor(("n", 1), "int64"), w: R.Tensor(("n", 300), "float32")):
        with R.dataflow():
            a = R.scatter_nd(x, i, u, "update")
            b = R.scatter_elements(a, j, v, axis=0, reduction="add")
            c = R.scatter_nd(y, k, w, "max")
            r = (b, c)
            R.output(r)
        return r
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def scatter_elements(A: T.Buffer((T.int64(6), T.int64(5)), "float32"), B: T.Buffer((T.int64(4), T.int64(3)), "int64"), C: T.Buffer((T.int64(4), T.int64(3)), "float32"), out_buf: T.Buffer((T.int64(6), T.int64(5)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for i0, i1 in T.grid(T.int64(6), T.int64(5)):
            with T.sblock("copy"):
                i0_1, i1_1 = T.axis.remap("SS", [i0, i1])
                T.reads(A[i0_1, i1_1])
                T.writes(out_buf[i0_1, i1_1])
                out_buf[i0_1, i1_1] = A[i0_1, i1_1]
        for i0_2, i1_2, i2 in T.grid(T.int64(6), T.int64(5), T.int64(4)):
            with T.sblock("scatter_elements"):
                i0_3, i1_3 = T.axis.remap("SS", [i0_2, i1_2])
                i2_1 = T.axis.scan(T.int64(4), i2)
                T.reads(B[T.int64(0):T.int64(4), T.int64(0):T.int64(3)], C[T.int64(0):T.int64(4), T.int64(0):T.int64(3)], out_buf[i0_3, i1_3])
                T.writes(out_buf[i0_3, i1_3])
                if i1_3 < T.int64(3):
                    if T.index_in(B[i2_1, i1_3], T.int64(6), 1, "scatter_elements, axis 0") == i0_3:
                        out_buf[i0_3, i1_3] = out_buf[i0_3, i1_3] + C[i2_1, i1_3]

    @T.prim_func(private=True, s_tir=True)
    def scatter_nd(A: T.Buffer((T.int64(6), T.int64(5)), "float32"), var_B: T.handle, var_C: T.handle, out_buf: T.Buffer((T.int64(6), T.int64(5)), "float32")):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        B = T.match_buffer(var_B, (n, T.int64(2)), "int64")
        C = T.match_buffer(var_C, (n,))
        # with T.sblock("root"):
        for i0, i1 in T.grid(T.int64(6), T.int64(5)):
            with T.sblock("copy"):
                i0_1, i1_1 = T.axis.remap("SS", [i0, i1])
                T.reads(A[i0_1, i1_1])
                T.writes(out_buf[i0_1, i1_1])
                out_buf[i0_1, i1_1] = A[i0_1, i1_1]
        for i0_2, i1_2, i2 in T.grid(T.int64(6), T.int64(5), n):
            with T.sblock("scatter_nd"):
                i0_3, i1_3 = T.axis.remap("SS", [i0_2, i1_2])
                i2_1 = T.axis.scan(n, i2)
                T.reads(B[T.int64(0):n, T.int64(0):T.int64(2)], C[T.int64(0):n], out_buf[i0_3, i1_3])
                T.writes(out_buf[i0_3, i1_3])
                if T.index_in(B[i2_1, T.int64(0)], T.int64(6), 1, "scatter_nd, axis 0") == i0_3 and T.index_in(B[i2_1, T.int64(1)], T.int64(5), 1, "scatter_nd, axis 1") == i1_3:
                    out_buf[i0_3, i1_3] = C[i2_1]

    @T.prim_func(private=True, s_tir=True)
    def scatter_nd1(A: T.Buffer((T.int64(4), T.int64(300)), "float32"), var_B: T.handle, var_C: T.handle, out_buf: T.Buffer((T.int64(4), T.int64(300)), "float32")):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        B = T.match_buffer(var_B, (n, T.int64(1)), "int64")
        C = T.match_buffer(var_C, (n, T.int64(300)))
        # with T.sblock("root"):
        for i0, i1 in T.grid(T.int64(4), T.int64(300)):
            with T.sblock("copy"):
                i0_1, i1_1 = T.axis.remap("SS", [i0, i1])
                T.reads(A[i0_1, i1_1])
                T.writes(out_buf[i0_1, i1_1])
                out_buf[i0_1, i1_1] = A[i0_1, i1_1]
        for i0_2, i1_2 in T.grid(n, T.int64(300)):
            with T.sblock("scatter_nd"):
                i0_3 = T.axis.scan(n, i0_2)
                i1_3 = T.axis.remap("S", [i1_2])
                T.reads(B[T.int64(0):n, T.int64(0)], C[T.int64(0):n, T.int64(0):T.int64(300)], out_buf[T.int64(0):T.int64(4), i1_3])
                T.writes(out_buf[T.int64(0):T.int64(4), i1_3])
                out_buf[T.index_in(B[i0_3, T.int64(0)], T.int64(4), 1, "scatter_nd, axis 0"), i1_3] = T.max(out_buf[T.index_in(B[i0_3, T.int64(0)], T.int64(4), 1, "scatter_nd, axis 0"), i1_3], C[i0_3, i1_3])

    @R.function
    def main(x: R.Tensor((6, 5), dtype="float32"), i: R.Tensor(("n", 2), dtype="int64"), u: R.Tensor(("n",), dtype="float32"), j: R.Tensor((4, 3), dtype="int64"), v: R.Tensor((4, 3), dtype="float32"), y: R.Tensor((4, 300), dtype="float32"), k: R.Tensor(("n", 1), dtype="int64"), w: R.Tensor(("n", 300), dtype="float32")) -> R.Tuple(R.Tensor((6, 5), dtype="float32"), R.Tensor((4, 300), dtype="float32")):
        n = T.int64()
        cls = Expected
        with R.dataflow():
            a = R.call_tir(cls.scatter_nd, (x, i, u), out_ty=R.Tensor((6, 5), dtype="float32"))
            b = R.call_tir(cls.scatter_elements, (a, j, v), out_ty=R.Tensor((6, 5), dtype="float32"))
            c = R.call_tir(cls.scatter_nd1, (y, k, w), out_ty=R.Tensor((4, 300), dtype="float32"))
            r: R.Tuple(R.Tensor((6, 5), dtype="float32"), R.Tensor((4, 300), dtype="float32")) = (b, c)
            R.output(r)
        return r
