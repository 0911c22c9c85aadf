# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[Matmul]}
# target: opencl
# A convolution over batches of symbolic number: one turn of a step copies of one batch, which the copy's index says without a division.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def conv(a: T.handle, W: T.Buffer((T.int64(64), T.int64(32), T.int64(3)), "float32"), c: T.handle):
        batch = T.int64()
        length = T.int64()
        A = T.match_buffer(a, (batch, T.int64(32), length * T.int64(2) + T.int64(1)))
        C = T.match_buffer(c, (batch, T.int64(64), length))
        for n, f, x, rc, rx in T.grid(batch, T.int64(64), length, T.int64(32), T.int64(3)):
            with T.sblock("C"):
                vn, vf, vx, vc, vr = T.axis.remap("SSSRR", [n, f, x, rc, rx])
                with T.init():
                    C[vn, vf, vx] = T.float32(0)
                C[vn, vf, vx] = C[vn, vf, vx] + A[vn, vc, vx * T.int64(2) + vr] * W[vf, vc, vr]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def conv(a: T.handle, W: T.Buffer((T.int64(64), T.int64(32), T.int64(3)), "float32"), c: T.handle):
        T.func_attr({"tirx.is_scheduled": True})
        batch = T.int64()
        length = T.int64()
        A = T.match_buffer(a, (batch, T.int64(32), length * T.int64(2) + T.int64(1)))
        C = T.match_buffer(c, (batch, T.int64(64), length))
        # with T.sblock("root"):
        C_local = T.sblock_alloc_buffer((batch, T.int64(64), length), scope="local")
        W_shared = T.sblock_alloc_buffer((T.int64(64), T.int64(32), T.int64(3)), scope="shared")
        A_shared = T.sblock_alloc_buffer((batch, T.int64(32), length * T.int64(2) + T.int64(1)), scope="shared")
        for ax0_ax1_0_ax2_0 in T.thread_binding(batch * ((length + T.int64(63)) // T.int64(64)), thread="blockIdx.x"):
            for ax1_1_0 in T.thread_binding(T.int64(16), thread="threadIdx.y"):
                for ax2_1_0 in T.thread_binding(T.int64(16), thread="threadIdx.x"):
                    for vn_i_init in range(T.int64(1)):
                        for vf_i_init in T.unroll(T.int64(4)):
                            for vx_i_init in T.unroll(T.int64(4)):
                                with T.sblock("C_init"):
                                    vn_init = T.axis.spatial(batch, ax0_ax1_0_ax2_0 // ((length + T.int64(63)) // T.int64(64)) + vn_i_init)
                                    vf_init = T.axis.spatial(T.int64(64), ax1_1_0 * T.int64(4) + vf_i_init)
                                    vx_init = T.axis.spatial(length, ax0_ax1_0_ax2_0 % ((length + T.int64(63)) // T.int64(64)) * T.int64(64) + ax2_1_0 * T.int64(4) + vx_i_init)
                                    T.where(ax0_ax1_0_ax2_0 % ((length + T.int64(63)) // T.int64(64)) * T.int64(64) + ax2_1_0 * T.int64(4) + vx_i_init < length)
                                    T.reads()
                                    T.writes(C_local[vn_init, vf_init, vx_init])
                                    C_local[vn_init, vf_init, vx_init] = T.float32(0.0)
                    for vr_i, vc_i_0 in T.grid(T.int64(3), T.int64(2)):
                        for v2_i, v0_i_v1_i_0_0 in T.grid(T.int64(1), T.int64(4)):
                            for v0_i_v1_i_0_1 in T.thread_binding(T.int64(16), thread="threadIdx.y"):
                                for v0_i_v1_i_1 in T.thread_binding(T.int64(16), thread="threadIdx.x"):
                                    with T.sblock("W_shared"):
                                        v0 = T.axis.spatial(T.int64(64), ((v0_i_v1_i_0_0 * T.int64(16) + v0_i_v1_i_0_1) * T.int64(16) + v0_i_v1_i_1) // T.int64(16))
                                        v1 = T.axis.spatial(T.int64(32), vc_i_0 * T.int64(16) + ((v0_i_v1_i_0_0 * T.int64(16) + v0_i_v1_i_0_1) * T.int64(16) + v0_i_v1_i_1) % T.int64(16))
                                        v2 = T.axis.spatial(T.int64(3), vr_i + v2_i)
                                        T.reads(W[v0, v1, v2])
                                        T.writes(W_shared[v0, v1, v2])
                                        W_shared[v0, v1, v2] = W[v0, v1, v2]
                        for v0_i, v1_i_v2_i_0_0 in T.grid(T.int64(1), T.int64(8)):
                            for v1_i_v2_i_0_1 in T.thread_binding(T.int64(16), thread="threadIdx.y"):
                                for v1_i_v2_i_1 in T.thread_binding(T.int64(16), thread="threadIdx.x"):
                                    with T.sblock("A_shared"):
                                        v0_1 = T.axis.spatial(batch, ax0_ax1_0_ax2_0 // ((length + T.int64(63)) // T.int64(64)) + v0_i)
                                        v1_1 = T.axis.spatial(T.int64(32), vc_i_0 * T.int64(16) + ((v1_i_v2_i_0_0 * T.int64(16) + v1_i_v2_i_0_1) * T.int64(16) + v1_i_v2_i_1) // T.int64(127))
                                        v2_1 = T.axis.spatial(length * T.int64(2) + T.int64(1), vr_i + ax0_ax1_0_ax2_0 % ((length + T.int64(63)) // T.int64(64)) * T.int64(128) + ((v1_i_v2_i_0_0 * T.int64(16) + v1_i_v2_i_0_1) * T.int64(16) + v1_i_v2_i_1) % T.int64(127))
                                        T.where(vr_i + ax0_ax1_0_ax2_0 % ((length + T.int64(63)) // T.int64(64)) * T.int64(128) + ((v1_i_v2_i_0_0 * T.int64(16) + v1_i_v2_i_0_1) * T.int64(16) + v1_i_v2_i_1) % T.int64(127) < length * T.int64(2) + T.int64(1) and v1_i_v2_i_0_0 * T.int64(16) + v1_i_v2_i_0_1 < T.int64(127))
                                        T.reads(A[v0_1, v1_1, v2_1])
                                        T.writes(A_shared[v0_1, v1_1, v2_1])
                                        A_shared[v0_1, v1_1, v2_1] = A[v0_1, v1_1, v2_1]
                        for vc_i_1, vn_i in T.grid(T.int64(16), T.int64(1)):
                            for vf_i in T.unroll(T.int64(4)):
                                for vx_i in T.unroll(T.int64(4)):
                                    with T.sblock("C_update"):
                                        vn = T.axis.spatial(batch, ax0_ax1_0_ax2_0 // ((length + T.int64(63)) // T.int64(64)) + vn_i)
                                        vf = T.axis.spatial(T.int64(64), ax1_1_0 * T.int64(4) + vf_i)
                                        vx = T.axis.spatial(length, ax0_ax1_0_ax2_0 % ((length + T.int64(63)) // T.int64(64)) * T.int64(64) + ax2_1_0 * T.int64(4) + vx_i)
                                        vc = T.axis.reduce(T.int64(32), vc_i_0 * T.int64(16) + vc_i_1)
                                        vr = T.axis.remap("R", [vr_i])
                                        T.where(ax0_ax1_0_ax2_0 % ((length + T.int64(63)) // T.int64(64)) * T.int64(64) + ax2_1_0 * T.int64(4) + vx_i < length)
                                        T.reads(C_local[vn, vf, vx], A_shared[vn, vc, vx * T.int64(2) + vr], W_shared[vf, vc, vr])
                                        T.writes(C_local[vn, vf, vx])
                                        C_local[vn, vf, vx] = C_local[vn, vf, vx] + A_shared[vn, vc, vx * T.int64(2) + vr] * W_shared[vf, vc, vr]
                    for ax1_1_1, ax2_1_1 in T.grid(T.int64(4), T.int64(4)):
                        with T.sblock("C_local"):
                            v0_2 = T.axis.spatial(batch, ax0_ax1_0_ax2_0 // ((length + T.int64(63)) // T.int64(64)))
                            v1_2 = T.axis.spatial(T.int64(64), T.Mul(T.int64(0), T.int64(64)) + (ax1_1_0 * T.int64(4) + ax1_1_1))
                            v2_2 = T.axis.spatial(length, ax0_ax1_0_ax2_0 % ((length + T.int64(63)) // T.int64(64)) * T.int64(64) + (ax2_1_0 * T.int64(4) + ax2_1_1))
                            T.where(ax0_ax1_0_ax2_0 % ((length + T.int64(63)) // T.int64(64)) * T.int64(64) + (ax2_1_0 * T.int64(4) + ax2_1_1) < length)
                            T.reads(C_local[v0_2, v1_2, v2_2])
                            T.writes(C[v0_2, v1_2, v2_2])
                            C[v0_2, v1_2, v2_2] = C_local[v0_2, v1_2, v2_2]
