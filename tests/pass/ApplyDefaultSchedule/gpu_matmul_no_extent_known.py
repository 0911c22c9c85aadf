# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[Matmul]}
# target: opencl
# Rows, columns and steps that are not known are padded: only what comes from arguments or goes there has tests, sums and zeros
# have none.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, b: T.handle, c: T.handle):
        n = T.int64()
        m = T.int64()
        k = T.int64()
        A = T.match_buffer(a, (n, k))
        B = T.match_buffer(b, (k, m))
        C = T.match_buffer(c, (n, m))
        for i, j, r in T.grid(n, m, k):
            with T.sblock("y"):
                vi, vj, vr = T.axis.remap("SSR", [i, j, r])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vr] * B[vr, vj]

# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, b: T.handle, c: T.handle):
        T.func_attr({"tirx.is_scheduled": True})
        n = T.int64()
        k = T.int64()
        A = T.match_buffer(a, (n, k))
        m = T.int64()
        B = T.match_buffer(b, (k, m))
        C = T.match_buffer(c, (n, m))
        # with T.sblock("root"):
        C_pad = T.sblock_alloc_buffer(((n + T.int64(63)) // T.int64(64) * T.int64(64), (m + T.int64(63)) // T.int64(64) * T.int64(64)), scope="local")
        A_pad_shared = T.sblock_alloc_buffer(((n + T.int64(63)) // T.int64(64) * T.int64(64), (k + T.int64(15)) // T.int64(16) * T.int64(16)), scope="shared")
        B_pad_shared = T.sblock_alloc_buffer(((k + T.int64(15)) // T.int64(16) * T.int64(16), (m + T.int64(63)) // T.int64(64) * T.int64(64)), scope="shared")
        for ax0_0_ax1_0 in T.thread_binding((n + T.int64(63)) // T.int64(64) * ((m + T.int64(63)) // T.int64(64)), thread="blockIdx.x"):
            for ax0_1_0 in T.thread_binding(T.int64(16), thread="threadIdx.y"):
                for ax1_1_0 in T.thread_binding(T.int64(16), thread="threadIdx.x"):
                    for vi_i_init in T.unroll(T.int64(4)):
                        for vj_i_init in T.unroll(T.int64(4)):
                            with T.sblock("y_init"):
                                vi_init = T.axis.spatial((n + T.int64(63)) // T.int64(64) * T.int64(64), ax0_1_0 * T.int64(4) + ax0_0_ax1_0 // ((m + T.int64(63)) // T.int64(64)) * T.int64(64) + vi_i_init)
                                vj_init = T.axis.spatial((m + T.int64(63)) // T.int64(64) * T.int64(64), ax0_0_ax1_0 % ((m + T.int64(63)) // T.int64(64)) * T.int64(64) + ax1_1_0 * T.int64(4) + vj_i_init)
                                T.reads()
                                T.writes(C_pad[vi_init, vj_init])
                                C_pad[vi_init, vj_init] = T.float32(0.0)
                    for vr_i_0 in range((k + T.int64(15)) // T.int64(16)):
                        for v0_i_v1_i_0_0 in range(T.int64(4)):
                            for v0_i_v1_i_0_1 in T.thread_binding(T.int64(16), thread="threadIdx.y"):
                                for v0_i_v1_i_1 in T.thread_binding(T.int64(16), thread="threadIdx.x"):
                                    with T.sblock("A_pad_shared"):
                                        v0 = T.axis.spatial((n + T.int64(63)) // T.int64(64) * T.int64(64), ax0_0_ax1_0 // ((m + T.int64(63)) // T.int64(64)) * T.int64(64) + ((v0_i_v1_i_0_0 * T.int64(16) + v0_i_v1_i_0_1) * T.int64(16) + v0_i_v1_i_1) // T.int64(16))
                                        v1 = T.axis.spatial((k + T.int64(15)) // T.int64(16) * T.int64(16), vr_i_0 * T.int64(16) + ((v0_i_v1_i_0_0 * T.int64(16) + v0_i_v1_i_0_1) * T.int64(16) + v0_i_v1_i_1) % T.int64(16))
                                        T.reads(A[v0, v1])
                                        T.writes(A_pad_shared[v0, v1])
                                        T.sblock_attr({"buffer_dim_align": [[0, 0, 16, 1]]})
                                        A_pad_shared[v0, v1] = T.if_then_else(v0 < n and v1 < k, A[v0, v1], T.float32(0.0))
                        for v0_i_v1_i_0_0_0 in range(T.int64(1)):
                            for v0_i_v1_i_0_0_1 in T.thread_binding(T.int64(16), thread="threadIdx.y"):
                                for v0_i_v1_i_0_1_1 in T.thread_binding(T.int64(16), thread="threadIdx.x"):
                                    for v1_i_1 in T.vectorized(T.int64(4)):
                                        with T.sblock("B_pad_shared"):
                                            v0_1 = T.axis.spatial((k + T.int64(15)) // T.int64(16) * T.int64(16), vr_i_0 * T.int64(16) + ((v0_i_v1_i_0_0_0 * T.int64(16) + v0_i_v1_i_0_0_1) * T.int64(16) + v0_i_v1_i_0_1_1) // T.int64(16))
                                            v1_1 = T.axis.spatial((m + T.int64(63)) // T.int64(64) * T.int64(64), ax0_0_ax1_0 % ((m + T.int64(63)) // T.int64(64)) * T.int64(64) + (((v0_i_v1_i_0_0_0 * T.int64(16) + v0_i_v1_i_0_0_1) * T.int64(16) + v0_i_v1_i_0_1_1) % T.int64(16) * T.int64(4) + v1_i_1))
                                            T.reads(B[v0_1, v1_1])
                                            T.writes(B_pad_shared[v0_1, v1_1])
                                            B_pad_shared[v0_1, v1_1] = T.if_then_else(v0_1 < k and v1_1 < m, B[v0_1, v1_1], T.float32(0.0))
                        for vr_i_1 in range(T.int64(16)):
                            for vi_i in T.unroll(T.int64(4)):
                                for vj_i in T.unroll(T.int64(4)):
                                    with T.sblock("y_update"):
                                        vi = T.axis.spatial((n + T.int64(63)) // T.int64(64) * T.int64(64), ax0_1_0 * T.int64(4) + ax0_0_ax1_0 // ((m + T.int64(63)) // T.int64(64)) * T.int64(64) + vi_i)
                                        vj = T.axis.spatial((m + T.int64(63)) // T.int64(64) * T.int64(64), ax0_0_ax1_0 % ((m + T.int64(63)) // T.int64(64)) * T.int64(64) + ax1_1_0 * T.int64(4) + vj_i)
                                        vr = T.axis.reduce((k + T.int64(15)) // T.int64(16) * T.int64(16), vr_i_0 * T.int64(16) + vr_i_1)
                                        T.reads(C_pad[vi, vj], A_pad_shared[vi, vr], B_pad_shared[vr, vj])
                                        T.writes(C_pad[vi, vj])
                                        C_pad[vi, vj] = C_pad[vi, vj] + A_pad_shared[vi, vr] * B_pad_shared[vr, vj]
                    for ax0_1_1, ax1_1_1 in T.grid(T.int64(4), T.int64(4)):
                        with T.sblock("C_pad"):
                            v0_2 = T.axis.spatial(n, ax0_0_ax1_0 // ((m + T.int64(63)) // T.int64(64)) * T.int64(64) + (ax0_1_0 * T.int64(4) + ax0_1_1))
                            v1_2 = T.axis.spatial(m, ax0_0_ax1_0 % ((m + T.int64(63)) // T.int64(64)) * T.int64(64) + (ax1_1_0 * T.int64(4) + ax1_1_1))
                            T.where(ax0_0_ax1_0 // ((m + T.int64(63)) // T.int64(64)) * T.int64(64) + (ax0_1_0 * T.int64(4) + ax0_1_1) < n and ax0_0_ax1_0 % ((m + T.int64(63)) // T.int64(64)) * T.int64(64) + (ax1_1_0 * T.int64(4) + ax1_1_1) < m)
                            T.reads(C_pad[v0_2, v1_2])
                            T.writes(C[v0_2, v1_2])
                            C[v0_2, v1_2] = C_pad[v0_2, v1_2]
