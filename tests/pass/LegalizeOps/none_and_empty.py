# SPDX-License-Identifier: Apache-2.0
# Optional flags that are None, an empty way of rounding, blocks that a tensor does not fill, and a condition of one element.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((14,), "float32"), y: R.Tensor((1, 1, 2, 2, 2), "float32"), c: R.Tensor((1, 1), "bool")):
        a = R.cumsum(x, axis=0, exclusive=None)
        b = R.image.resize3d(y, R.shape([3, 3, 3]), layout="NCDHW", method="nearest_neighbor", coordinate_transformation_mode="asymmetric", rounding_method="")
        d = R.layout_transform(x, index_map=T.index_map(lambda i: (i % 16,)))
        if c:
            e = R.add(a, x)
        else:
            e = R.multiply(a, x)
        return (a, b, d, e)
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def add(A: T.Buffer((T.int64(14),), "float32"), B: T.Buffer((T.int64(14),), "float32"), T_add: T.Buffer((T.int64(14),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(14)):
            with T.sblock("T_add"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0], B[v_ax0])
                T.writes(T_add[v_ax0])
                T_add[v_ax0] = A[v_ax0] + B[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def cumsum(A: T.Buffer((T.int64(14),), "float32"), out_buf: T.Buffer((T.int64(14),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        with T.sblock("cumsum"):
            v_i = T.axis.spatial(T.int64(1), T.int64(0))
            T.reads(A[T.int64(0):T.int64(14)])
            T.writes(out_buf[T.int64(0):T.int64(14)])
            for i0 in range(T.int64(14)):
                out_buf[i0] = T.if_then_else(i0 > T.int64(0), out_buf[i0 - T.int64(1)] + A[i0], A[i0])

    @T.prim_func(private=True, s_tir=True)
    def multiply(A: T.Buffer((T.int64(14),), "float32"), B: T.Buffer((T.int64(14),), "float32"), T_multiply: T.Buffer((T.int64(14),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(T.int64(14)):
            with T.sblock("T_multiply"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0], B[v_ax0])
                T.writes(T_multiply[v_ax0])
                T_multiply[v_ax0] = A[v_ax0] * B[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def resize3d(A: T.Buffer((T.int64(1), T.int64(1), T.int64(2), T.int64(2), T.int64(2)), "float32"), resize_2: T.Buffer((T.int64(1), T.int64(1), T.int64(3), T.int64(3), T.int64(3)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        resize = T.sblock_alloc_buffer((T.int64(1), T.int64(1), T.int64(3), T.int64(2), T.int64(2)))
        resize_1 = T.sblock_alloc_buffer((T.int64(1), T.int64(1), T.int64(3), T.int64(3), T.int64(2)))
        for ax0, ax1, ax2, ax3, ax4 in T.grid(T.int64(1), T.int64(1), T.int64(3), T.int64(2), T.int64(2)):
            with T.sblock("resize"):
                v_ax0, v_ax1, v_ax2, v_ax3, v_ax4 = T.axis.remap("SSSSS", [ax0, ax1, ax2, ax3, ax4])
                T.reads(A[v_ax0, v_ax1, T.min(T.max(v_ax2 * T.int64(2) // T.int64(3), T.int64(0)), T.int64(1)), v_ax3, v_ax4])
                T.writes(resize[v_ax0, v_ax1, v_ax2, v_ax3, v_ax4])
                resize[v_ax0, v_ax1, v_ax2, v_ax3, v_ax4] = A[v_ax0, v_ax1, T.min(T.max(v_ax2 * T.int64(2) // T.int64(3), T.int64(0)), T.int64(1)), v_ax3, v_ax4]
        for ax0_1, ax1_1, ax2_1, ax3_1, ax4_1 in T.grid(T.int64(1), T.int64(1), T.int64(3), T.int64(3), T.int64(2)):
            with T.sblock("resize_1"):
                v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1, v_ax4_1 = T.axis.remap("SSSSS", [ax0_1, ax1_1, ax2_1, ax3_1, ax4_1])
                T.reads(resize[v_ax0_1, v_ax1_1, v_ax2_1, T.min(T.max(v_ax3_1 * T.int64(2) // T.int64(3), T.int64(0)), T.int64(1)), v_ax4_1])
                T.writes(resize_1[v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1, v_ax4_1])
                resize_1[v_ax0_1, v_ax1_1, v_ax2_1, v_ax3_1, v_ax4_1] = resize[v_ax0_1, v_ax1_1, v_ax2_1, T.min(T.max(v_ax3_1 * T.int64(2) // T.int64(3), T.int64(0)), T.int64(1)), v_ax4_1]
        for ax0_2, ax1_2, ax2_2, ax3_2, ax4_2 in T.grid(T.int64(1), T.int64(1), T.int64(3), T.int64(3), T.int64(3)):
            with T.sblock("resize_2"):
                v_ax0_2, v_ax1_2, v_ax2_2, v_ax3_2, v_ax4_2 = T.axis.remap("SSSSS", [ax0_2, ax1_2, ax2_2, ax3_2, ax4_2])
                T.reads(resize_1[v_ax0_2, v_ax1_2, v_ax2_2, v_ax3_2, T.min(T.max(v_ax4_2 * T.int64(2) // T.int64(3), T.int64(0)), T.int64(1))])
                T.writes(resize_2[v_ax0_2, v_ax1_2, v_ax2_2, v_ax3_2, v_ax4_2])
                resize_2[v_ax0_2, v_ax1_2, v_ax2_2, v_ax3_2, v_ax4_2] = resize_1[v_ax0_2, v_ax1_2, v_ax2_2, v_ax3_2, T.min(T.max(v_ax4_2 * T.int64(2) // T.int64(3), T.int64(0)), T.int64(1))]

    @T.prim_func(private=True, s_tir=True)
    def te_layout_transform_with_pad(A: T.Buffer((T.int64(14),), "float32"), T_layout_trans: T.Buffer((T.int64(16),), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        with T.sblock("layout_transform"):
            v_i = T.axis.spatial(T.int64(1), T.int64(0))
            T.reads(A[T.int64(0):T.int64(14)])
            T.writes(T_layout_trans[T.int64(0):T.int64(16)])
            for i0 in range(T.int64(16)):
                T_layout_trans[i0] = T.float32(0.0)
            for i0_1 in range(T.int64(14)):
                T_layout_trans[i0_1 % T.int64(16)] = A[i0_1]

    @R.function
    def main(x: R.Tensor((14,), dtype="float32"), y: R.Tensor((1, 1, 2, 2, 2), dtype="float32"), c: R.Tensor((1, 1), dtype="bool")) -> R.Tuple(R.Tensor((14,), dtype="float32"), R.Tensor((1, 1, 3, 3, 3), dtype="float32"), R.Tensor((16,), dtype="float32"), R.Tensor((14,), dtype="float32")):
        cls = Expected
        a = R.call_tir(cls.cumsum, (x,), out_ty=R.Tensor((14,), dtype="float32"))
        b = R.call_tir(cls.resize3d, (y,), out_ty=R.Tensor((1, 1, 3, 3, 3), dtype="float32"))
        d = R.call_tir(cls.te_layout_transform_with_pad, (x,), out_ty=R.Tensor((16,), dtype="float32"))
        if c:
            e_then = R.call_tir(cls.add, (a, x), out_ty=R.Tensor((14,), dtype="float32"))
            e: R.Tensor((14,), dtype="float32") = e_then
        else:
            e_else = R.call_tir(cls.multiply, (a, x), out_ty=R.Tensor((14,), dtype="float32"))
            e: R.Tensor((14,), dtype="float32") = e_else
        return (a, b, d, e)
