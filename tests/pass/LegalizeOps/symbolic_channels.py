# SPDX-License-Identifier: Apache-2.0
# Vectors of which no proof says that they have an entry for each channel: the program looks, before it computes with several of them.
@I.ir_module
class Before:
    @R.function
    def inference(x: R.Tensor(("n", "c", "h"), "float32"), g: R.Tensor(("a",), "float32"), b: R.Tensor(("c",), "float32"), m: R.Tensor(("d",), "float32"), v: R.Tensor(("c",), "float32")):
        with R.dataflow():
            y = R.nn.batch_norm(x, g, b, m, v, axis=1, training=False)
            R.output(y)
        return y

    @R.function
    def training(x: R.Tensor(("n", "c"), "float32"), g: R.Tensor(("c",), "float32"), b: R.Tensor(("c",), "float32"), m: R.Tensor(("d",), "float32"), v: R.Tensor(("c",), "float32")):
        with R.dataflow():
            y = R.nn.batch_norm(x, g, b, m, v, axis=1, training=True)
            R.output(y)
        return y

    @R.function
    def instance(x: R.Tensor(("n", "c", "h"), "float32"), g: R.Tensor(("a",), "float32"), b: R.Tensor(("c",), "float32")):
        with R.dataflow():
            y = R.nn.instance_norm(x, g, b, channel_axis=1, axes=[2])
            R.output(y)
        return y
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def add(var_A: T.handle, var_T_add: T.handle):
        T.func_attr({"tirx.noalias": True})
        c = T.int64()
        A = T.match_buffer(var_A, (c,))
        T_add = T.match_buffer(var_T_add, (c,))
        # with T.sblock("root"):
        for ax0 in range(c):
            with T.sblock("T_add"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(T_add[v_ax0])
                T_add[v_ax0] = A[v_ax0] + T.float32(1e-05)

    @T.prim_func(private=True, s_tir=True)
    def add1(var_A: T.handle, var_B: T.handle, var_T_add: T.handle):
        T.func_attr({"tirx.noalias": True})
        c = T.int64()
        A = T.match_buffer(var_A, (c,))
        B = T.match_buffer(var_B, (c,))
        T_add = T.match_buffer(var_T_add, (c,))
        # with T.sblock("root"):
        for ax0 in range(c):
            with T.sblock("T_add"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0], B[v_ax0])
                T.writes(T_add[v_ax0])
                T_add[v_ax0] = A[v_ax0] + B[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def add2(var_A: T.handle, var_B: T.handle, var_T_add: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        c = T.int64()
        h = T.int64()
        A = T.match_buffer(var_A, (n, c, h))
        B = T.match_buffer(var_B, (c, T.int64(1)))
        T_add = T.match_buffer(var_T_add, (n, c, h))
        # with T.sblock("root"):
        for ax0, ax1, ax2 in T.grid(n, c, h):
            with T.sblock("T_add"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(A[v_ax0, v_ax1, v_ax2], B[v_ax1, T.int64(0)])
                T.writes(T_add[v_ax0, v_ax1, v_ax2])
                T_add[v_ax0, v_ax1, v_ax2] = A[v_ax0, v_ax1, v_ax2] + B[v_ax1, T.int64(0)]

    @T.prim_func(private=True, s_tir=True)
    def add3(var_A: T.handle, var_B: T.handle, var_T_add: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        c = T.int64()
        A = T.match_buffer(var_A, (n, c))
        B = T.match_buffer(var_B, (c,))
        T_add = T.match_buffer(var_T_add, (n, c))
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(n, c):
            with T.sblock("T_add"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax0, v_ax1], B[v_ax1])
                T.writes(T_add[v_ax0, v_ax1])
                T_add[v_ax0, v_ax1] = A[v_ax0, v_ax1] + B[v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def expand_dims(var_A: T.handle, var_expand_dims: T.handle):
        T.func_attr({"tirx.noalias": True})
        c = T.int64()
        A = T.match_buffer(var_A, (c,))
        expand_dims = T.match_buffer(var_expand_dims, (c, T.int64(1)))
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(c, T.int64(1)):
            with T.sblock("expand_dims"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax0])
                T.writes(expand_dims[v_ax0, v_ax1])
                expand_dims[v_ax0, v_ax1] = A[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def instance_norm(var_A: T.handle, var_B: T.handle, var_C: T.handle, var_T_instance_norm: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        c = T.int64()
        h = T.int64()
        A = T.match_buffer(var_A, (n, c, h))
        a = T.int64()
        B = T.match_buffer(var_B, (a,))
        C = T.match_buffer(var_C, (c,))
        T_instance_norm = T.match_buffer(var_T_instance_norm, (n, c, h))
        # with T.sblock("root"):
        x_red = T.sblock_alloc_buffer((n, c))
        x_mean = T.sblock_alloc_buffer((n, c))
        x_sq_red = T.sblock_alloc_buffer((n, c))
        x_var = T.sblock_alloc_buffer((n, c))
        for ax0, ax1, k2 in T.grid(n, c, h):
            with T.sblock("x_red"):
                v_ax0, v_ax1, v_k2 = T.axis.remap("SSR", [ax0, ax1, k2])
                T.reads(A[v_ax0, v_ax1, v_k2])
                T.writes(x_red[v_ax0, v_ax1])
                with T.init():
                    x_red[v_ax0, v_ax1] = T.float32(0.0)
                x_red[v_ax0, v_ax1] = x_red[v_ax0, v_ax1] + A[v_ax0, v_ax1, v_k2]
        for ax0_1, ax1_1 in T.grid(n, c):
            with T.sblock("x_mean"):
                v_ax0_1, v_ax1_1 = T.axis.remap("SS", [ax0_1, ax1_1])
                T.reads(x_red[v_ax0_1, v_ax1_1])
                T.writes(x_mean[v_ax0_1, v_ax1_1])
                x_mean[v_ax0_1, v_ax1_1] = x_red[v_ax0_1, v_ax1_1] / T.Cast("float32", h)
        for ax0_2, ax1_2, k2_1 in T.grid(n, c, h):
            with T.sblock("x_sq_red"):
                v_ax0_2, v_ax1_2, v_k2_1 = T.axis.remap("SSR", [ax0_2, ax1_2, k2_1])
                T.reads(A[v_ax0_2, v_ax1_2, v_k2_1], x_mean[v_ax0_2, v_ax1_2])
                T.writes(x_sq_red[v_ax0_2, v_ax1_2])
                with T.init():
                    x_sq_red[v_ax0_2, v_ax1_2] = T.float32(0.0)
                x_sq_red[v_ax0_2, v_ax1_2] = x_sq_red[v_ax0_2, v_ax1_2] + (A[v_ax0_2, v_ax1_2, v_k2_1] - x_mean[v_ax0_2, v_ax1_2]) * (A[v_ax0_2, v_ax1_2, v_k2_1] - x_mean[v_ax0_2, v_ax1_2])
        for ax0_3, ax1_3 in T.grid(n, c):
            with T.sblock("x_var"):
                v_ax0_3, v_ax1_3 = T.axis.remap("SS", [ax0_3, ax1_3])
                T.reads(x_sq_red[v_ax0_3, v_ax1_3])
                T.writes(x_var[v_ax0_3, v_ax1_3])
                x_var[v_ax0_3, v_ax1_3] = x_sq_red[v_ax0_3, v_ax1_3] / T.Cast("float32", h)
        for ax0_4, ax1_4, ax2 in T.grid(n, c, h):
            with T.sblock("T_instance_norm"):
                v_ax0_4, v_ax1_4, v_ax2 = T.axis.remap("SSS", [ax0_4, ax1_4, ax2])
                T.reads(A[v_ax0_4, v_ax1_4, v_ax2], x_mean[v_ax0_4, v_ax1_4], x_var[v_ax0_4, v_ax1_4], B[v_ax1_4], C[v_ax1_4])
                T.writes(T_instance_norm[v_ax0_4, v_ax1_4, v_ax2])
                T_instance_norm[v_ax0_4, v_ax1_4, v_ax2] = (A[v_ax0_4, v_ax1_4, v_ax2] - x_mean[v_ax0_4, v_ax1_4]) * T.rsqrt(x_var[v_ax0_4, v_ax1_4] + T.float32(1e-05)) * B[v_ax1_4] + C[v_ax1_4]

    @T.prim_func(private=True, s_tir=True)
    def mean(var_A: T.handle, var_T_divide: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        c = T.int64()
        A = T.match_buffer(var_A, (n, c))
        T_divide = T.match_buffer(var_T_divide, (c,))
        # with T.sblock("root"):
        T_red = T.sblock_alloc_buffer((c,))
        for ax0, k0 in T.grid(c, n):
            with T.sblock("T_red"):
                v_ax0, v_k0 = T.axis.remap("SR", [ax0, k0])
                T.reads(A[v_k0, v_ax0])
                T.writes(T_red[v_ax0])
                with T.init():
                    T_red[v_ax0] = T.float32(0.0)
                T_red[v_ax0] = T_red[v_ax0] + A[v_k0, v_ax0]
        for ax0_1 in range(c):
            with T.sblock("T_divide"):
                v_ax0_1 = T.axis.remap("S", [ax0_1])
                T.reads(T_red[v_ax0_1])
                T.writes(T_divide[v_ax0_1])
                T_divide[v_ax0_1] = T_red[v_ax0_1] / T.Cast("float32", n)

    @T.prim_func(private=True, s_tir=True)
    def multiply(var_A: T.handle, var_B: T.handle, var_T_multiply: T.handle):
        T.func_attr({"tirx.noalias": True})
        c = T.int64()
        A = T.match_buffer(var_A, (c,))
        B = T.match_buffer(var_B, (c,))
        T_multiply = T.match_buffer(var_T_multiply, (c,))
        # with T.sblock("root"):
        for ax0 in range(c):
            with T.sblock("T_multiply"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0], B[v_ax0])
                T.writes(T_multiply[v_ax0])
                T_multiply[v_ax0] = A[v_ax0] * B[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def multiply1(var_A: T.handle, var_B: T.handle, var_T_multiply: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        c = T.int64()
        h = T.int64()
        A = T.match_buffer(var_A, (n, c, h))
        B = T.match_buffer(var_B, (c, T.int64(1)))
        T_multiply = T.match_buffer(var_T_multiply, (n, c, h))
        # with T.sblock("root"):
        for ax0, ax1, ax2 in T.grid(n, c, h):
            with T.sblock("T_multiply"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(A[v_ax0, v_ax1, v_ax2], B[v_ax1, T.int64(0)])
                T.writes(T_multiply[v_ax0, v_ax1, v_ax2])
                T_multiply[v_ax0, v_ax1, v_ax2] = A[v_ax0, v_ax1, v_ax2] * B[v_ax1, T.int64(0)]

    @T.prim_func(private=True, s_tir=True)
    def multiply2(var_A: T.handle, var_T_multiply: T.handle):
        T.func_attr({"tirx.noalias": True})
        c = T.int64()
        A = T.match_buffer(var_A, (c,))
        T_multiply = T.match_buffer(var_T_multiply, (c,))
        # with T.sblock("root"):
        for ax0 in range(c):
            with T.sblock("T_multiply"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(T_multiply[v_ax0])
                T_multiply[v_ax0] = A[v_ax0] * T.float32(0.1)

    @T.prim_func(private=True, s_tir=True)
    def multiply3(var_A: T.handle, var_T_multiply: T.handle):
        T.func_attr({"tirx.noalias": True})
        c = T.int64()
        A = T.match_buffer(var_A, (c,))
        T_multiply = T.match_buffer(var_T_multiply, (c,))
        # with T.sblock("root"):
        for ax0 in range(c):
            with T.sblock("T_multiply"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(T_multiply[v_ax0])
                T_multiply[v_ax0] = A[v_ax0] * T.float32(0.9)

    @T.prim_func(private=True, s_tir=True)
    def multiply4(var_A: T.handle, var_B: T.handle, var_T_multiply: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        c = T.int64()
        A = T.match_buffer(var_A, (n, c))
        B = T.match_buffer(var_B, (c,))
        T_multiply = T.match_buffer(var_T_multiply, (n, c))
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(n, c):
            with T.sblock("T_multiply"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax0, v_ax1], B[v_ax1])
                T.writes(T_multiply[v_ax0, v_ax1])
                T_multiply[v_ax0, v_ax1] = A[v_ax0, v_ax1] * B[v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def negative(var_A: T.handle, var_compute: T.handle):
        T.func_attr({"tirx.noalias": True})
        c = T.int64()
        A = T.match_buffer(var_A, (c,))
        compute = T.match_buffer(var_compute, (c,))
        # with T.sblock("root"):
        for ax0 in range(c):
            with T.sblock("compute"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(compute[v_ax0])
                compute[v_ax0] = T.float32(-0.0) - A[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def tir_rsqrt(var_A: T.handle, var_compute: T.handle):
        T.func_attr({"tirx.noalias": True})
        c = T.int64()
        A = T.match_buffer(var_A, (c,))
        compute = T.match_buffer(var_compute, (c,))
        # with T.sblock("root"):
        for ax0 in range(c):
            with T.sblock("compute"):
                v_ax0 = T.axis.remap("S", [ax0])
                T.reads(A[v_ax0])
                T.writes(compute[v_ax0])
                compute[v_ax0] = T.rsqrt(A[v_ax0])

    @T.prim_func(private=True, s_tir=True)
    def variance(var_A: T.handle, var_T_divide_1: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        c = T.int64()
        A = T.match_buffer(var_A, (n, c))
        T_divide_1 = T.match_buffer(var_T_divide_1, (c,))
        # with T.sblock("root"):
        T_red = T.sblock_alloc_buffer((c,))
        T_divide = T.sblock_alloc_buffer((c,))
        T_red_1 = T.sblock_alloc_buffer((c,))
        for ax0, k0 in T.grid(c, n):
            with T.sblock("T_red"):
                v_ax0, v_k0 = T.axis.remap("SR", [ax0, k0])
                T.reads(A[v_k0, v_ax0])
                T.writes(T_red[v_ax0])
                with T.init():
                    T_red[v_ax0] = T.float32(0.0)
                T_red[v_ax0] = T_red[v_ax0] + A[v_k0, v_ax0]
        for ax0_1 in range(c):
            with T.sblock("T_divide"):
                v_ax0_1 = T.axis.remap("S", [ax0_1])
                T.reads(T_red[v_ax0_1])
                T.writes(T_divide[v_ax0_1])
                T_divide[v_ax0_1] = T_red[v_ax0_1] / T.Cast("float32", n)
        for ax0_2, k0_1 in T.grid(c, n):
            with T.sblock("T_red_1"):
                v_ax0_2, v_k0_1 = T.axis.remap("SR", [ax0_2, k0_1])
                T.reads(A[v_k0_1, v_ax0_2], T_divide[v_ax0_2])
                T.writes(T_red_1[v_ax0_2])
                with T.init():
                    T_red_1[v_ax0_2] = T.float32(0.0)
                T_red_1[v_ax0_2] = T_red_1[v_ax0_2] + (A[v_k0_1, v_ax0_2] - T_divide[v_ax0_2]) * (A[v_k0_1, v_ax0_2] - T_divide[v_ax0_2])
        for ax0_3 in range(c):
            with T.sblock("T_divide_1"):
                v_ax0_3 = T.axis.remap("S", [ax0_3])
                T.reads(T_red_1[v_ax0_3])
                T.writes(T_divide_1[v_ax0_3])
                T_divide_1[v_ax0_3] = T_red_1[v_ax0_3] / T.Cast("float32", n)

    @R.function
    def inference(x: R.Tensor(("n", "c", "h"), dtype="float32"), g: R.Tensor(("a",), dtype="float32"), b: R.Tensor(("c",), dtype="float32"), m: R.Tensor(("d",), dtype="float32"), v: R.Tensor(("c",), dtype="float32")) -> R.Tuple(R.Tensor(("n", "c", "h"), dtype="float32"), R.Tensor(("d",), dtype="float32"), R.Tensor(("c",), dtype="float32")):
        n = T.int64()
        c = T.int64()
        h = T.int64()
        d = T.int64()
        cls = Expected
        with R.dataflow():
            lv = R.match_cast(g, R.Tensor((c,), dtype="float32"))
            lv1 = R.match_cast(m, R.Tensor((c,), dtype="float32"))
            lv2 = R.call_tir(cls.add, (v,), out_ty=R.Tensor((c,), dtype="float32"))
            lv3 = R.call_tir(cls.tir_rsqrt, (lv2,), out_ty=R.Tensor((c,), dtype="float32"))
            lv4 = R.call_tir(cls.multiply, (lv, lv3), out_ty=R.Tensor((c,), dtype="float32"))
            lv5 = R.call_tir(cls.multiply, (lv1, lv4), out_ty=R.Tensor((c,), dtype="float32"))
            lv6 = R.call_tir(cls.negative, (lv5,), out_ty=R.Tensor((c,), dtype="float32"))
            lv7 = R.call_tir(cls.add1, (b, lv6), out_ty=R.Tensor((c,), dtype="float32"))
            lv8 = R.call_tir(cls.expand_dims, (lv4,), out_ty=R.Tensor((c, 1), dtype="float32"))
            lv9 = R.call_tir(cls.multiply1, (x, lv8), out_ty=R.Tensor((n, c, h), dtype="float32"))
            lv10 = R.call_tir(cls.expand_dims, (lv7,), out_ty=R.Tensor((c, 1), dtype="float32"))
            lv11 = R.call_tir(cls.add2, (lv9, lv10), out_ty=R.Tensor((n, c, h), dtype="float32"))
            y: R.Tuple(R.Tensor((n, c, h), dtype="float32"), R.Tensor((d,), dtype="float32"), R.Tensor((c,), dtype="float32")) = (lv11, m, v)
            R.output(y)
        return y

    @R.function
    def instance(x: R.Tensor(("n", "c", "h"), dtype="float32"), g: R.Tensor(("a",), dtype="float32"), b: R.Tensor(("c",), dtype="float32")) -> R.Tensor(("n", "c", "h"), dtype="float32"):
        n = T.int64()
        c = T.int64()
        h = T.int64()
        a = T.int64()
        cls = Expected
        with R.dataflow():
            y = R.call_tir(cls.instance_norm, (x, g, b), out_ty=R.Tensor((n, c, h), dtype="float32"))
            R.output(y)
        return y

    @R.function
    def training(x: R.Tensor(("n", "c"), dtype="float32"), g: R.Tensor(("c",), dtype="float32"), b: R.Tensor(("c",), dtype="float32"), m: R.Tensor(("d",), dtype="float32"), v: R.Tensor(("c",), dtype="float32")) -> R.Tuple(R.Tensor(("n", "c"), dtype="float32"), R.Tensor(("d",), dtype="float32"), R.Tensor(("c",), dtype="float32")):
        n = T.int64()
        c = T.int64()
        d = T.int64()
        cls = Expected
        with R.dataflow():
            lv = R.match_cast(m, R.Tensor((c,), dtype="float32"))
            lv1 = R.call_tir(cls.mean, (x,), out_ty=R.Tensor((c,), dtype="float32"))
            lv2 = R.call_tir(cls.variance, (x,), out_ty=R.Tensor((c,), dtype="float32"))
            lv3 = R.call_tir(cls.multiply2, (lv1,), out_ty=R.Tensor((c,), dtype="float32"))
            lv4 = R.call_tir(cls.multiply3, (lv,), out_ty=R.Tensor((c,), dtype="float32"))
            lv5 = R.call_tir(cls.add1, (lv4, lv3), out_ty=R.Tensor((c,), dtype="float32"))
            lv6 = R.match_cast(lv5, R.Tensor((d,), dtype="float32"))
            lv7 = R.call_tir(cls.multiply2, (lv2,), out_ty=R.Tensor((c,), dtype="float32"))
            lv8 = R.call_tir(cls.multiply3, (v,), out_ty=R.Tensor((c,), dtype="float32"))
            lv9 = R.call_tir(cls.add1, (lv8, lv7), out_ty=R.Tensor((c,), dtype="float32"))
            lv10 = R.call_tir(cls.add, (lv2,), out_ty=R.Tensor((c,), dtype="float32"))
            lv11 = R.call_tir(cls.tir_rsqrt, (lv10,), out_ty=R.Tensor((c,), dtype="float32"))
            lv12 = R.call_tir(cls.multiply, (g, lv11), out_ty=R.Tensor((c,), dtype="float32"))
            lv13 = R.call_tir(cls.multiply, (lv1, lv12), out_ty=R.Tensor((c,), dtype="float32"))
            lv14 = R.call_tir(cls.negative, (lv13,), out_ty=R.Tensor((c,), dtype="float32"))
            lv15 = R.call_tir(cls.add1, (b, lv14), out_ty=R.Tensor((c,), dtype="float32"))
            lv16 = R.call_tir(cls.multiply4, (x, lv12), out_ty=R.Tensor((n, c), dtype="float32"))
            lv17 = R.call_tir(cls.add3, (lv16, lv15), out_ty=R.Tensor((n, c), dtype="float32"))
            y: R.Tuple(R.Tensor((n, c), dtype="float32"), R.Tensor((d,), dtype="float32"), R.Tensor((c,), dtype="float32")) = (lv17, lv6, lv9)
            R.output(y)
        return y
