# SPDX-License-Identifier: Apache-2.0
# Moving averages keep their dtype where the data have another.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 3, 4), "float64"), g: R.Tensor((3,), "float32"), b: R.Tensor((3,), "float32"), m: R.Tensor((3,), "float32"), v: R.Tensor((3,), "float32")):
        with R.dataflow():
            gv = R.nn.batch_norm(x, g, b, m, v, axis=1, training=True)
            R.output(gv)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def add(A: T.Buffer((T.int64(3),), "float32"), B: T.Buffer((T.int64(3),), "float32"), T_add: T.Buffer((T.int64(3),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(3)):
            with T.sblock("T_add"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0], B[v_ax0])
                T.writes(T_add[v_ax0])
                T_add[v_ax0] = A[v_ax0] + B[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def add1(A: T.Buffer((T.int64(3),), "float64"), T_add: T.Buffer((T.int64(3),), "float64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(3)):
            with T.sblock("T_add"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(T_add[v_ax0])
                T_add[v_ax0] = A[v_ax0] + T.float64(1e-05)

    @T.prim_func(private=True, s_tir=True)
    def add2(A: T.Buffer((T.int64(3),), "float64"), B: T.Buffer((T.int64(3),), "float64"), T_add: T.Buffer((T.int64(3),), "float64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(3)):
            with T.sblock("T_add"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0], B[v_ax0])
                T.writes(T_add[v_ax0])
                T_add[v_ax0] = A[v_ax0] + B[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def add3(A: T.Buffer((T.int64(2), T.int64(3), T.int64(4)), "float64"), B: T.Buffer((T.int64(3), T.int64(1)), "float64"), T_add: T.Buffer((T.int64(2), T.int64(3), T.int64(4)), "float64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2 in T.grid(T.int64(2), T.int64(3), T.int64(4)):
            with T.sblock("T_add"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(A[v_ax0, v_ax1, v_ax2], B[v_ax1, T.int64(0)])
                T.writes(T_add[v_ax0, v_ax1, v_ax2])
                T_add[v_ax0, v_ax1, v_ax2] = A[v_ax0, v_ax1, v_ax2] + B[v_ax1, T.int64(0)]

    @T.prim_func(private=True, s_tir=True)
    def cast(A: T.Buffer((T.int64(3),), "float64"), compute: T.Buffer((T.int64(3),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(3)):
            with T.sblock("compute"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(compute[v_ax0])
                compute[v_ax0] = T.Cast("float32", A[v_ax0])

    @T.prim_func(private=True, s_tir=True)
    def cast1(A: T.Buffer((T.int64(3),), "float32"), compute: T.Buffer((T.int64(3),), "float64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(3)):
            with T.sblock("compute"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(compute[v_ax0])
                compute[v_ax0] = T.Cast("float64", A[v_ax0])

    @T.prim_func(private=True, s_tir=True)
    def expand_dims(A: T.Buffer((T.int64(3),), "float64"), expand_dims: T.Buffer((T.int64(3), T.int64(1)), "float64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(3), T.int64(1)):
            with T.sblock("expand_dims"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax0])
                T.writes(expand_dims[v_ax0, v_ax1])
                expand_dims[v_ax0, v_ax1] = A[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def mean(A: T.Buffer((T.int64(2), T.int64(3), T.int64(4)), "float64"), T_divide: T.Buffer((T.int64(3),), "float64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        T_red = T.sblock_alloc_buffer((T.int64(3),), "float64")
        for ax0, k0, k2 in T.grid(T.int64(3), T.int64(2), T.int64(4)):
            with T.sblock("T_red"):
                v_ax0, v_k0, v_k2 = T.axis.remap("SRR", [ax0, k0, k2])
                T.reads(A[v_k0, v_ax0, v_k2])
                T.writes(T_red[v_ax0])
                with T.init():
                    T_red[v_ax0] = T.float64(0.0)
                T_red[v_ax0] = T_red[v_ax0] + A[v_k0, v_ax0, v_k2]
        for ax0_1 in range(T.int64(3)):
            with T.sblock("T_divide"):
                v_ax0_1 = T.axis.remap("S", [ax0_1])
                T.reads(T_red[v_ax0_1])
                T.writes(T_divide[v_ax0_1])
                T_divide[v_ax0_1] = T_red[v_ax0_1] / T.float64(8.0)

    @T.prim_func(private=True, s_tir=True)
    def multiply(A: T.Buffer((T.int64(3),), "float32"), T_multiply: T.Buffer((T.int64(3),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(3)):
            with T.sblock("T_multiply"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(T_multiply[v_ax0])
                T_multiply[v_ax0] = A[v_ax0] * T.float32(0.1)

    @T.prim_func(private=True, s_tir=True)
    def multiply1(A: T.Buffer((T.int64(3),), "float32"), T_multiply: T.Buffer((T.int64(3),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(3)):
            with T.sblock("T_multiply"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(T_multiply[v_ax0])
                T_multiply[v_ax0] = A[v_ax0] * T.float32(0.9)

    @T.prim_func(private=True, s_tir=True)
    def multiply2(A: T.Buffer((T.int64(3),), "float64"), B: T.Buffer((T.int64(3),), "float64"), T_multiply: T.Buffer((T.int64(3),), "float64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(3)):
            with T.sblock("T_multiply"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0], B[v_ax0])
                T.writes(T_multiply[v_ax0])
                T_multiply[v_ax0] = A[v_ax0] * B[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def multiply3(A: T.Buffer((T.int64(2), T.int64(3), T.int64(4)), "float64"), B: T.Buffer((T.int64(3), T.int64(1)), "float64"), T_multiply: T.Buffer((T.int64(2), T.int64(3), T.int64(4)), "float64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2 in T.grid(T.int64(2), T.int64(3), T.int64(4)):
            with T.sblock("T_multiply"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(A[v_ax0, v_ax1, v_ax2], B[v_ax1, T.int64(0)])
                T.writes(T_multiply[v_ax0, v_ax1, v_ax2])
                T_multiply[v_ax0, v_ax1, v_ax2] = A[v_ax0, v_ax1, v_ax2] * B[v_ax1, T.int64(0)]

    @T.prim_func(private=True, s_tir=True)
    def negative(A: T.Buffer((T.int64(3),), "float64"), compute: T.Buffer((T.int64(3),), "float64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(3)):
            with T.sblock("compute"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(compute[v_ax0])
                compute[v_ax0] = T.float64(-0.0) - A[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def tir_rsqrt(A: T.Buffer((T.int64(3),), "float64"), compute: T.Buffer((T.int64(3),), "float64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(3)):
            with T.sblock("compute"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(compute[v_ax0])
                compute[v_ax0] = T.rsqrt(A[v_ax0])

    @T.prim_func(private=True, s_tir=True)
    def variance(A: T.Buffer((T.int64(2), T.int64(3), T.int64(4)), "float64"), T_divide_1: T.Buffer((T.int64(3),), "float64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        T_red = T.sblock_alloc_buffer((T.int64(3),), "float64")
        T_divide = T.sblock_alloc_buffer((T.int64(3),), "float64")
        T_red_1 = T.sblock_alloc_buffer((T.int64(3),), "float64")
        for ax0, k0, k2 in T.grid(T.int64(3), T.int64(2), T.int64(4)):
            with T.sblock("T_red"):
                v_ax0, v_k0, v_k2 = T.axis.remap("SRR", [ax0, k0, k2])
                T.reads(A[v_k0, v_ax0, v_k2])
                T.writes(T_red[v_ax0])
                with T.init():
                    T_red[v_ax0] = T.float64(0.0)
                T_red[v_ax0] = T_red[v_ax0] + A[v_k0, v_ax0, v_k2]
        for ax0_1 in range(T.int64(3)):
            with T.sblock("T_divide"):
                v_ax0_1 = T.axis.remap("S", [ax0_1])
                T.reads(T_red[v_ax0_1])
                T.writes(T_divide[v_ax0_1])
                T_divide[v_ax0_1] = T_red[v_ax0_1] / T.float64(8.0)
        for ax0_2, k0_1, k2_1 in T.grid(T.int64(3), T.int64(2), T.int64(4)):
            with T.sblock("T_red_1"):
                v_ax0_2, v_k0_1, v_k2_1 = T.axis.remap("SRR", [ax0_2, k0_1, k2_1])
                T.reads(A[v_k0_1, v_ax0_2, v_k2_1], T_divide[v_ax0_2])
                T.writes(T_red_1[v_ax0_2])
                with T.init():
                    T_red_1[v_ax0_2] = T.float64(0.0)
                T_red_1[v_ax0_2] = T_red_1[v_ax0_2] + (A[v_k0_1, v_ax0_2, v_k2_1] - T_divide[v_ax0_2]) * (A[v_k0_1, v_ax0_2, v_k2_1] - T_divide[v_ax0_2])
        for ax0_3 in range(T.int64(3)):
            with T.sblock("T_divide_1"):
                v_ax0_3 = T.axis.remap("S", [ax0_3])
                T.reads(T_red_1[v_ax0_3])
                T.writes(T_divide_1[v_ax0_3])
                T_divide_1[v_ax0_3] = T_red_1[v_ax0_3] / T.float64(8.0)

    @R.function
    def main(x: R.Tensor((2, 3, 4), dtype="float64"), g: R.Tensor((3,), dtype="float32"), b: R.Tensor((3,), dtype="float32"), m: R.Tensor((3,), dtype="float32"), v: R.Tensor((3,), dtype="float32")) -> R.Tuple(R.Tensor((2, 3, 4), dtype="float64"), R.Tensor((3,), dtype="float32"), R.Tensor((3,), dtype="float32")):
        cls = Expected
        with R.dataflow():
            lv = R.call_tir(cls.mean, (x,), out_ty=R.Tensor((3,), dtype="float64"))
            lv1 = R.call_tir(cls.variance, (x,), out_ty=R.Tensor((3,), dtype="float64"))
            lv2 = R.call_tir(cls.cast, (lv,), out_ty=R.Tensor((3,), dtype="float32"))
            lv3 = R.call_tir(cls.multiply, (lv2,), out_ty=R.Tensor((3,), dtype="float32"))
            lv4 = R.call_tir(cls.multiply1, (m,), out_ty=R.Tensor((3,), dtype="float32"))
            lv5 = R.call_tir(cls.add, (lv4, lv3), out_ty=R.Tensor((3,), dtype="float32"))
            lv6 = R.call_tir(cls.cast, (lv1,), out_ty=R.Tensor((3,), dtype="float32"))
            lv7 = R.call_tir(cls.multiply, (lv6,), out_ty=R.Tensor((3,), dtype="float32"))
            lv8 = R.call_tir(cls.multiply1, (v,), out_ty=R.Tensor((3,), dtype="float32"))
            lv9 = R.call_tir(cls.add, (lv8, lv7), out_ty=R.Tensor((3,), dtype="float32"))
            lv10 = R.call_tir(cls.cast1, (g,), out_ty=R.Tensor((3,), dtype="float64"))
            lv11 = R.call_tir(cls.cast1, (b,), out_ty=R.Tensor((3,), dtype="float64"))
            lv12 = R.call_tir(cls.add1, (lv1,), out_ty=R.Tensor((3,), dtype="float64"))
            lv13 = R.call_tir(cls.tir_rsqrt, (lv12,), out_ty=R.Tensor((3,), dtype="float64"))
            lv14 = R.call_tir(cls.multiply2, (lv10, lv13), out_ty=R.Tensor((3,), dtype="float64"))
            lv15 = R.call_tir(cls.multiply2, (lv, lv14), out_ty=R.Tensor((3,), dtype="float64"))
            lv16 = R.call_tir(cls.negative, (lv15,), out_ty=R.Tensor((3,), dtype="float64"))
            lv17 = R.call_tir(cls.add2, (lv11, lv16), out_ty=R.Tensor((3,), dtype="float64"))
            lv18 = R.call_tir(cls.expand_dims, (lv14,), out_ty=R.Tensor((3, 1), dtype="float64"))
            lv19 = R.call_tir(cls.multiply3, (x, lv18), out_ty=R.Tensor((2, 3, 4), dtype="float64"))
            lv20 = R.call_tir(cls.expand_dims, (lv17,), out_ty=R.Tensor((3, 1), dtype="float64"))
            lv21 = R.call_tir(cls.add3, (lv19, lv20), out_ty=R.Tensor((2, 3, 4), dtype="float64"))
            gv: R.Tuple(R.Tensor((2, 3, 4), dtype="float64"), R.Tensor((3,), dtype="float32"), R.Tensor((3,), dtype="float32")) = (lv21, lv5, lv9)
            R.output(gv)
        return gv
