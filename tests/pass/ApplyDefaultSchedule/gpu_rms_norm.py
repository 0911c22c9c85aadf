# SPDX-License-Identifier: Apache-2.0
# passes: ApplyDefaultSchedule{rules=[RMSNorm]}
# target: cuda
# The root of the mean square; a program without a root is not taken.
@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def rms_norm(A: T.Buffer((3, 4096), "float16"), W: T.Buffer((4096,), "float16"), B: T.Buffer((3, 4096), "float16")):
        s = T.sblock_alloc_buffer((3,))
        r = T.sblock_alloc_buffer((3,))
        for i, k in T.grid(3, 4096):
            with T.sblock("s"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    s[vi] = T.float32(0)
                s[vi] = s[vi] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", A[vi, vk])
        for i in range(3):
            with T.sblock("r"):
                vi = T.axis.spatial(3, i)
                r[vi] = T.rsqrt(s[vi] / T.float32(4096) + T.float32(1e-5))
        for i, j in T.grid(3, 4096):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.Cast("float16", T.Cast("float32", A[vi, vj]) * r[vi] * T.Cast("float32", W[vj]))

    @T.prim_func(s_tir=True)
    def mean(A: T.Buffer((3, 64), "float32"), B: T.Buffer((3,), "float32")):
        for i, k in T.grid(3, 64):
            with T.sblock("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def mean(A: T.Buffer((3, 64), "float32"), B: T.Buffer((3,), "float32")):
        # with T.sblock("root"):
        for i, k in T.grid(3, 64):
            with T.sblock("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(B[vi])
                with T.init():
                    B[vi] = T.float32(0.0)
                B[vi] = B[vi] + A[vi, vk]

    @T.prim_func(s_tir=True)
    def rms_norm(A: T.Buffer((3, 4096), "float16"), W: T.Buffer((4096,), "float16"), B: T.Buffer((3, 4096), "float16")):
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        s = T.sblock_alloc_buffer((3,), scope="shared")
        for i in T.thread_binding(3, thread="blockIdx.x"):
            for vi_i, vk_i_0 in T.grid(1, 8):
                for vk_i_1 in T.thread_binding(512, thread="threadIdx.x"):
                    with T.sblock("s"):
                        vi = T.axis.spatial(3, i + vi_i)
                        vk = T.axis.reduce(4096, vk_i_0 * 512 + vk_i_1)
                        T.reads(A[vi, vk])
                        T.writes(s[vi])
                        with T.init():
                            s[vi] = T.float32(0.0)
                        s[vi] = s[vi] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", A[vi, vk])
            for j_0 in range(8):
                for j_1 in T.thread_binding(512, thread="threadIdx.x"):
                    with T.sblock("B"):
                        vi_1 = T.axis.remap("S", [i])
                        vj = T.axis.spatial(4096, j_0 * 512 + j_1)
                        T.reads(A[vi_1, vj], s[vi_1], W[vj])
                        T.writes(B[vi_1, vj])
                        B[vi_1, vj] = T.Cast("float16", T.Cast("float32", A[vi_1, vj]) * T.rsqrt(s[vi_1] / T.float32(4096.0) + T.float32(1e-05)) * T.Cast("float32", W[vj]))
