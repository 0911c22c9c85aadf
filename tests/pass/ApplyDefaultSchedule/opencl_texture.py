# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[opencl.Texture]}
# target: {"kind": "opencl", "keys": ["adreno", "opencl", "gpu", "texture"]}
# A convolution over blocks of four channels: a thread stores four neighbours at once. What has no four neighbours stays.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def conv(x: T.Buffer((1, 2, 5, 6, 4), "float32"), w: T.Buffer((3, 8, 3, 3, 4), "float32"), y: T.Buffer((1, 3, 5, 6, 4), "float32")):
        p = T.sblock_alloc_buffer((1, 2, 7, 8, 4))
        c = T.sblock_alloc_buffer((1, 3, 5, 6, 4))
        for a, b, d, e, f in T.grid(1, 2, 7, 8, 4):
            with T.sblock("pad"):
                va, vb, vd, ve, vf = T.axis.remap("SSSSS", [a, b, d, e, f])
                p[va, vb, vd, ve, vf] = T.if_then_else(1 <= vd and vd < 6 and 1 <= ve and ve < 7, x[va, vb, vd - 1, ve - 1, vf], T.float32(0))
        for a, b, d, e, f, rco, rci, ry, rx in T.grid(1, 3, 5, 6, 4, 2, 4, 3, 3):
            with T.sblock("conv2d"):
                va, vb, vd, ve, vf, v_rco, v_rci, v_ry, v_rx = T.axis.remap("SSSSSRRRR", [a, b, d, e, f, rco, rci, ry, rx])
                with T.init():
                    c[va, vb, vd, ve, vf] = T.float32(0)
                c[va, vb, vd, ve, vf] = c[va, vb, vd, ve, vf] + p[va, v_rco, vd + v_ry, ve + v_rx, v_rci] * w[vb, v_rco * 4 + v_rci, v_ry, v_rx, vf]
        for a, b, d, e, f in T.grid(1, 3, 5, 6, 4):
            with T.sblock("relu"):
                va, vb, vd, ve, vf = T.axis.remap("SSSSS", [a, b, d, e, f])
                y[va, vb, vd, ve, vf] = T.max(c[va, vb, vd, ve, vf], T.float32(0))

    @T.prim_func(s_tir=True)
    def five(x: T.Buffer((1, 2, 5, 6, 5), "float32"), y: T.Buffer((1, 2, 5, 6, 5), "float32")):
        for a, b, d, e, f in T.grid(1, 2, 5, 6, 5):
            with T.sblock("relu"):
                va, vb, vd, ve, vf = T.axis.remap("SSSSS", [a, b, d, e, f])
                y[va, vb, vd, ve, vf] = T.max(x[va, vb, vd, ve, vf], T.float32(0))
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def conv(x: T.Buffer((1, 2, 5, 6, 4), "float32"), w: T.Buffer((3, 8, 3, 3, 4), "float32"), y: T.Buffer((1, 3, 5, 6, 4), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        c = T.sblock_alloc_buffer((1, 3, 5, 6, 4), scope="local")
        for b_d_e_0 in T.thread_binding(2, thread="blockIdx.x"):
            for b_d_e_1 in T.thread_binding(64, thread="threadIdx.x"):
                for va_i, vb_i, vd_i, ve_i in T.grid(1, 1, 1, 1):
                    for vf_i_init in T.vectorized(4):
                        with T.sblock("conv2d_init"):
                            va_init = T.axis.remap("S", [va_i])
                            vb_init = T.axis.spatial(3, (b_d_e_0 * 64 + b_d_e_1) // 30 + vb_i)
                            vd_init = T.axis.spatial(5, (b_d_e_0 * 4 + b_d_e_1) % 30 // 6 + vd_i)
                            ve_init = T.axis.spatial(6, (b_d_e_0 * 4 + b_d_e_1) % 6 + ve_i)
                            vf_init = T.axis.remap("S", [vf_i_init])
                            T.where((b_d_e_0 * 64 + b_d_e_1) // 30 + vb_i < 3)
                            T.reads()
                            T.writes(c[va_init, vb_init, vd_init, ve_init, vf_init])
                            c[va_init, vb_init, vd_init, ve_init, vf_init] = T.float32(0.0)
                    for v_rco_i in range(2):
                        for v_rci_i in T.unroll(4):
                            for v_ry_i, v_rx_i in T.grid(3, 3):
                                for vf_i in T.vectorized(4):
                                    with T.sblock("conv2d_update"):
                                        va = T.axis.remap("S", [va_i])
                                        vb = T.axis.spatial(3, (b_d_e_0 * 64 + b_d_e_1) // 30 + vb_i)
                                        vd = T.axis.spatial(5, (b_d_e_0 * 4 + b_d_e_1) % 30 // 6 + vd_i)
                                        ve = T.axis.spatial(6, (b_d_e_0 * 4 + b_d_e_1) % 6 + ve_i)
                                        vf, v_rco, v_rci, v_ry, v_rx = T.axis.remap("SRRRR", [vf_i, v_rco_i, v_rci_i, v_ry_i, v_rx_i])
                                        T.where((b_d_e_0 * 64 + b_d_e_1) // 30 + vb_i < 3)
                                        T.reads(c[va, vb, vd, ve, vf], x[va, v_rco, vd + v_ry - 1, ve + v_rx - 1, v_rci], w[vb, v_rco * 4 + v_rci, v_ry, v_rx, vf])
                                        T.writes(c[va, vb, vd, ve, vf])
                                        c[va, vb, vd, ve, vf] = c[va, vb, vd, ve, vf] + T.if_then_else(1 <= vd + v_ry and vd + v_ry < 6 and 1 <= ve + v_rx and ve + v_rx < 7, x[va, v_rco, vd + v_ry - 1, ve + v_rx - 1, v_rci], T.float32(0.0)) * w[vb, v_rco * 4 + v_rci, v_ry, v_rx, vf]
                for a in range(1):
                    for f in T.vectorized(4):
                        with T.sblock("relu"):
                            va_1 = T.axis.remap("S", [a])
                            vb_1 = T.axis.spatial(3, (b_d_e_0 * 64 + b_d_e_1) // 6 // 5)
                            vd_1 = T.axis.spatial(5, (b_d_e_0 * 64 + b_d_e_1) // 6 % 5)
                            ve_1 = T.axis.spatial(6, (b_d_e_0 * 64 + b_d_e_1) % 6)
                            vf_1 = T.axis.remap("S", [f])
                            T.where(b_d_e_0 * 64 + b_d_e_1 < 90)
                            T.reads(c[va_1, vb_1, vd_1, ve_1, vf_1])
                            T.writes(y[va_1, vb_1, vd_1, ve_1, vf_1])
                            y[va_1, vb_1, vd_1, ve_1, vf_1] = T.max(c[va_1, vb_1, vd_1, ve_1, vf_1], T.float32(0.0))

    @T.prim_func(s_tir=True)
    def five(x: T.Buffer((1, 2, 5, 6, 5), "float32"), y: T.Buffer((1, 2, 5, 6, 5), "float32")):
        # with T.sblock("root"):
        for a, b, d, e, f in T.grid(1, 2, 5, 6, 5):
            with T.sblock("relu"):
                va, vb, vd, ve, vf = T.axis.remap("SSSSS", [a, b, d, e, f])
                T.reads(x[va, vb, vd, ve, vf])
                T.writes(y[va, vb, vd, ve, vf])
                y[va, vb, vd, ve, vf] = T.max(x[va, vb, vd, ve, vf], T.float32(0.0))
