# SPDX-License-Identifier: Apache-2.0
# passes: ApplyScheduleTrace{trace="@DIR@/tile.trace",intrinsics="@DIR@/tile.intrin"}
# A tile becomes a block of its own, and then an intrinsic that a module beside the trace describes.
@I.ir_module
class Before:
    @T.prim_func
    def matmul(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 24), "float32"), C: T.Buffer((16, 24), "float32")):
        for i, j, k in T.grid(16, 24, 32):
            with T.sblock("mm"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def matmul(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 24), "float32"), C: T.Buffer((16, 24), "float32")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for i, j_0 in T.grid(16, 3):
            with T.sblock("mm_o_init"):
                vi_o_init, vj_o_init = T.axis.remap("SS", [i, j_0])
                T.reads()
                T.writes(C[vi_o_init, vj_o_init * 8:vj_o_init * 8 + 8])
                for j_1_init in range(8):
                    with T.sblock("mm_init"):
                        vi_init = T.axis.spatial(16, vi_o_init)
                        vj_init = T.axis.spatial(24, vj_o_init * 8 + j_1_init)
                        T.reads()
                        T.writes(C[vi_init, vj_init])
                        C[vi_init, vj_init] = T.float32(0.0)
            for k_0 in range(8):
                with T.sblock("mm_o_update"):
                    vi_o, vj_o, vk_o = T.axis.remap("SSR", [i, j_0, k_0])
                    T.reads(C[vi_o, vj_o * 8:vj_o * 8 + 8], A[vi_o, vk_o * 4:vk_o * 4 + 4], B[vk_o * 4:vk_o * 4 + 4, vj_o * 8:vj_o * 8 + 8])
                    T.writes(C[vi_o, vj_o * 8:vj_o * 8 + 8])
                    A_1 = T.match_buffer(A[vi_o, vk_o * 4:vk_o * 4 + 4], (4,))
                    B_1 = T.match_buffer(B[vk_o * 4:vk_o * 4 + 4, vj_o * 8:vj_o * 8 + 8], (4, 8))
                    C_1 = T.match_buffer(C[vi_o, vj_o * 8:vj_o * 8 + 8], (8,))
                    T.sblock_attr({"tensor_intrin": "fma_4x8"})
                    for k in T.unroll(4):
                        C_1[T.Ramp(0, 1, 8)] = C_1[T.Ramp(0, 1, 8)] + T.Broadcast(A_1[k], 8) * B_1[k, T.Ramp(0, 1, 8)]
