# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[Transpose]}, ConvertBlocksToOpaque, Simplify, CompactBufferAllocation
# target: opencl
# The scalar m is never negative, as an extent tells: the tile in shared memory has 32 by 32 elements.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def f(a: T.handle, b: T.handle, m: T.int64):
        n = T.int64()
        A = T.match_buffer(a, (T.int64(1), T.int64(32), n, m * T.int64(3) // T.int64(2)))
        B = T.match_buffer(b, (T.int64(1), T.int64(32), m * T.int64(3) // T.int64(2), n))
        for i0, i1, i2, i3 in T.grid(T.int64(1), T.int64(32), m * T.int64(3) // T.int64(2), n):
            with T.sblock("t"):
                v0, v1, v2, v3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
                B[v0, v1, v2, v3] = A[v0, v1, v3, v2]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def f(a: T.handle, b: T.handle, m: T.int64):
        T.func_attr({"tirx.is_scheduled": True})
        n = T.int64()
        A = T.match_buffer(a, (T.int64(1), T.int64(32), n, m * T.int64(3) // T.int64(2)))
        B = T.match_buffer(b, (T.int64(1), T.int64(32), m * T.int64(3) // T.int64(2), n))
        A_shared = T.alloc_buffer((T.int64(1), T.int64(1), T.int64(32), T.int64(32)), strides=[T.int64(1056), T.int64(1056), T.int64(33), T.int64(1)], scope="shared")
        for i0_i1_i2_0_i3_0 in T.thread_binding((m * T.int64(3) + T.int64(62)) // T.int64(64) * T.int64(32) * ((n + T.int64(31)) // T.int64(32)), thread="blockIdx.x"):
            for v2_i_0 in range(T.int64(4)):
                for v2_i_1 in T.thread_binding(T.int64(8), thread="threadIdx.y"):
                    for v3_i_1 in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                        if i0_i1_i2_0_i3_0 % ((n + T.int64(31)) // T.int64(32)) * T.int64(32) + v2_i_0 * T.int64(8) + v2_i_1 < n and i0_i1_i2_0_i3_0 // ((n + T.int64(31)) // T.int64(32)) % ((m * T.int64(3) + T.int64(62)) // T.int64(64)) * T.int64(32) + v3_i_1 < m * T.int64(3) // T.int64(2):
                            A_shared[i0_i1_i2_0_i3_0 // ((n + T.int64(31)) // T.int64(32)) // ((m * T.int64(3) + T.int64(62)) // T.int64(64)) // T.int64(32), i0_i1_i2_0_i3_0 // ((n + T.int64(31)) // T.int64(32)) // ((m * T.int64(3) + T.int64(62)) // T.int64(64)) % T.int64(32) - i0_i1_i2_0_i3_0 // ((n + T.int64(31)) // T.int64(32)) // ((m * T.int64(3) + T.int64(62)) // T.int64(64)) % T.int64(32), i0_i1_i2_0_i3_0 % ((n + T.int64(31)) // T.int64(32)) * T.int64(32) + v2_i_0 * T.int64(8) + v2_i_1 - i0_i1_i2_0_i3_0 % ((n + T.int64(31)) // T.int64(32)) * T.int64(32), i0_i1_i2_0_i3_0 // ((n + T.int64(31)) // T.int64(32)) % ((m * T.int64(3) + T.int64(62)) // T.int64(64)) * T.int64(32) + v3_i_1 - i0_i1_i2_0_i3_0 // ((n + T.int64(31)) // T.int64(32)) % ((m * T.int64(3) + T.int64(62)) // T.int64(64)) * T.int64(32)] = A[i0_i1_i2_0_i3_0 // ((n + T.int64(31)) // T.int64(32)) // ((m * T.int64(3) + T.int64(62)) // T.int64(64)) // T.int64(32), i0_i1_i2_0_i3_0 // ((n + T.int64(31)) // T.int64(32)) // ((m * T.int64(3) + T.int64(62)) // T.int64(64)) % T.int64(32), i0_i1_i2_0_i3_0 % ((n + T.int64(31)) // T.int64(32)) * T.int64(32) + v2_i_0 * T.int64(8) + v2_i_1, i0_i1_i2_0_i3_0 // ((n + T.int64(31)) // T.int64(32)) % ((m * T.int64(3) + T.int64(62)) // T.int64(64)) * T.int64(32) + v3_i_1]
            for i2_1_0 in range(T.int64(4)):
                for i2_1_1 in T.thread_binding(T.int64(8), thread="threadIdx.y"):
                    for i3_1 in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                        if i0_i1_i2_0_i3_0 // ((n + T.int64(31)) // T.int64(32)) % ((m * T.int64(3) + T.int64(62)) // T.int64(64)) * T.int64(32) + i2_1_0 * T.int64(8) + i2_1_1 < m * T.int64(3) // T.int64(2) and i0_i1_i2_0_i3_0 % ((n + T.int64(31)) // T.int64(32)) * T.int64(32) + i3_1 < n:
                            B[i0_i1_i2_0_i3_0 // ((n + T.int64(31)) // T.int64(32)) // ((m * T.int64(3) + T.int64(62)) // T.int64(64)) // T.int64(32), i0_i1_i2_0_i3_0 // ((n + T.int64(31)) // T.int64(32)) // ((m * T.int64(3) + T.int64(62)) // T.int64(64)) % T.int64(32), i0_i1_i2_0_i3_0 // ((n + T.int64(31)) // T.int64(32)) % ((m * T.int64(3) + T.int64(62)) // T.int64(64)) * T.int64(32) + i2_1_0 * T.int64(8) + i2_1_1, i0_i1_i2_0_i3_0 % ((n + T.int64(31)) // T.int64(32)) * T.int64(32) + i3_1] = A_shared[i0_i1_i2_0_i3_0 // ((n + T.int64(31)) // T.int64(32)) // ((m * T.int64(3) + T.int64(62)) // T.int64(64)) // T.int64(32), i0_i1_i2_0_i3_0 // ((n + T.int64(31)) // T.int64(32)) // ((m * T.int64(3) + T.int64(62)) // T.int64(64)) % T.int64(32) - i0_i1_i2_0_i3_0 // ((n + T.int64(31)) // T.int64(32)) // ((m * T.int64(3) + T.int64(62)) // T.int64(64)) % T.int64(32), i0_i1_i2_0_i3_0 % ((n + T.int64(31)) // T.int64(32)) * T.int64(32) + i3_1 - i0_i1_i2_0_i3_0 % ((n + T.int64(31)) // T.int64(32)) * T.int64(32), i0_i1_i2_0_i3_0 // ((n + T.int64(31)) // T.int64(32)) % ((m * T.int64(3) + T.int64(62)) // T.int64(64)) * T.int64(32) + i2_1_0 * T.int64(8) + i2_1_1 - i0_i1_i2_0_i3_0 // ((n + T.int64(31)) // T.int64(32)) % ((m * T.int64(3) + T.int64(62)) // T.int64(64)) * T.int64(32)]
