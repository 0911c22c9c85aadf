# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[Transpose,Fallback]}
# target: {"kind": "opencl", "max_shared_memory_per_block": 16384}
# Whether m * k is negative is not known, and so the tile of a block is not: 32 tiles do not fit the shared memory.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def f(a: T.handle, b: T.handle, m: T.int64, k: T.int64):
        n = T.int64()
        A = T.match_buffer(a, (T.int64(1), T.int64(32), n, m * k))
        B = T.match_buffer(b, (T.int64(1), T.int64(32), m * k, n))
        for i0, i1, i2, i3 in T.grid(T.int64(1), T.int64(32), m * k, n):
            with T.sblock("t"):
                v0, v1, v2, v3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
                B[v0, v1, v2, v3] = A[v0, v1, v3, v2]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def f(a: T.handle, b: T.handle, m: T.int64, k: T.int64):
        T.func_attr({"tirx.is_scheduled": True})
        n = T.int64()
        A = T.match_buffer(a, (T.int64(1), T.int64(32), n, m * k))
        B = T.match_buffer(b, (T.int64(1), T.int64(32), m * k, n))
        # with T.sblock("root"):
        for i0_i1_i2_i3_0 in T.thread_binding((n * m * k + T.int64(7)) // T.int64(8), thread="blockIdx.x"):
            for i0_i1_i2_i3_1 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                with T.sblock("t"):
                    v0 = T.axis.spatial(T.int64(1), (i0_i1_i2_i3_0 * T.int64(256) + i0_i1_i2_i3_1) // n // (m * k) // T.int64(32))
                    v1 = T.axis.spatial(T.int64(32), (i0_i1_i2_i3_0 * T.int64(256) + i0_i1_i2_i3_1) // n // (m * k) % T.int64(32))
                    v2 = T.axis.spatial(m * k, (i0_i1_i2_i3_0 * T.int64(256) + i0_i1_i2_i3_1) // n % (m * k))
                    v3 = T.axis.spatial(n, (i0_i1_i2_i3_0 * T.int64(256) + i0_i1_i2_i3_1) % n)
                    T.where(i0_i1_i2_i3_0 * T.int64(256) + i0_i1_i2_i3_1 < m * k * T.int64(32) * n)
                    T.reads(A[v0, v1, v3, v2])
                    T.writes(B[v0, v1, v2, v3])
                    B[v0, v1, v2, v3] = A[v0, v1, v3, v2]
