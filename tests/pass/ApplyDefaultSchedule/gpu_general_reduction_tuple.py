# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[GeneralReduction]}
# target: opencl
# Sum and sum of squares become two reductions; rows are a part of one dimension.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def group_norm(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        s = T.sblock_alloc_buffer((4,))
        q = T.sblock_alloc_buffer((4,))
        for i, k in T.grid(4, 16):
            with T.sblock("moments"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    s[vi] = T.float32(0)
                    q[vi] = T.float32(0)
                v_s: T.let[T.float32] = s[vi] + A[vi * 16 + vk]
                v_q: T.let[T.float32] = q[vi] + A[vi * 16 + vk] * A[vi * 16 + vk]
                s[vi] = v_s
                q[vi] = v_q
        for i in range(64):
            with T.sblock("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = (A[vi] - s[vi // 16]) * q[vi // 16]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def group_norm(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        s = T.sblock_alloc_buffer((4,), scope="shared")
        q = T.sblock_alloc_buffer((4,), scope="shared")
        for i_0 in T.thread_binding(4, thread="blockIdx.x"):
            for vi_i, vk_i_0 in T.grid(1, 1):
                for vk_i_1 in T.thread_binding(16, thread="threadIdx.x"):
                    with T.sblock("moments_1"):
                        vi = T.axis.spatial(4, i_0 + vi_i)
                        vk = T.axis.reduce(16, vk_i_0 * 16 + vk_i_1)
                        T.reads(A[vi * 16 + vk])
                        T.writes(q[vi])
                        with T.init():
                            q[vi] = T.float32(0.0)
                        q[vi] = q[vi] + A[vi * 16 + vk] * A[vi * 16 + vk]
            for vi_i_1, vk_i_0_1 in T.grid(1, 1):
                for vk_i_1_1 in T.thread_binding(16, thread="threadIdx.x"):
                    with T.sblock("moments_0"):
                        vi_1 = T.axis.spatial(4, i_0 + vi_i_1)
                        vk_1 = T.axis.reduce(16, vk_i_0_1 * 16 + vk_i_1_1)
                        T.reads(A[vi_1 * 16 + vk_1])
                        T.writes(s[vi_1])
                        with T.init():
                            s[vi_1] = T.float32(0.0)
                        s[vi_1] = s[vi_1] + A[vi_1 * 16 + vk_1]
            for i_1_0 in range(1):
                for i_1_1 in T.thread_binding(16, thread="threadIdx.x"):
                    with T.sblock("B"):
                        vi_2 = T.axis.spatial(64, i_0 * 16 + (i_1_0 * 16 + i_1_1))
                        T.reads(A[vi_2], s[vi_2 // 16], q[vi_2 // 16])
                        T.writes(B[vi_2])
                        B[vi_2] = (A[vi_2] - s[vi_2 // 16]) * q[vi_2 // 16]
