# SPDX-License-Identifier: Apache-2.0
# Pairs of int16, summed in int32: tiles of the tensor intrinsic of eight lanes.
# target: cpu
# passes: ApplyDefaultSchedule{rules=[Dot]}
@I.ir_module
class Before:
    @T.prim_func
    def f(x: T.Buffer((T.int64(6), T.int64(4)), "int16"), w: T.Buffer((T.int64(2), T.int64(2), T.int64(8), T.int64(2)), "int16"), y: T.Buffer((T.int64(6), T.int64(16)), "int16")):
        T.func_attr({"tirx.noalias": True})
        acc = T.sblock_alloc_buffer((T.int64(6), T.int64(16)), "int32")
        for i, j, k, p in T.grid(T.int64(6), T.int64(16), T.int64(2), T.int64(2)):
            with T.sblock("sum"):
                vi, vj, vk, vp = T.axis.remap("SSRR", [i, j, k, p])
                with T.init():
                    acc[vi, vj] = 0
                acc[vi, vj] = acc[vi, vj] + T.Cast("int32", x[vi, vk * T.int64(2) + vp]) * T.Cast("int32", w[vj // T.int64(8), vk, vj % T.int64(8), vp])
        for i, j in T.grid(T.int64(6), T.int64(16)):
            with T.sblock("cut"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = T.Cast("int16", acc[vi, vj])
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def f(x: T.Buffer((T.int64(6), T.int64(4)), "int16"), w: T.Buffer((T.int64(2), T.int64(2), T.int64(8), T.int64(2)), "int16"), y: T.Buffer((T.int64(6), T.int64(16)), "int16")):
        T.func_attr({"tirx.is_scheduled": True, "tirx.noalias": True})
        # with T.sblock("root"):
        acc = T.sblock_alloc_buffer((T.int64(6), T.int64(16)), "int32")
        for i_0, j_0 in T.grid(T.int64(1), T.int64(1)):
            for vi_i_init in T.unroll(T.int64(6)):
                for vj_i_0_init in T.unroll(T.int64(2)):
                    for vj_i_1_init in T.vectorized(T.int64(8)):
                        with T.sblock("sum_init"):
                            vi_init = T.axis.remap("S", [vi_i_init])
                            vj_init = T.axis.spatial(T.int64(16), vj_i_0_init * T.int64(8) + vj_i_1_init)
                            T.reads()
                            T.writes(acc[vi_init, vj_init])
                            acc[vi_init, vj_init] = 0
            for vk_i in range(T.int64(2)):
                for vi_i in T.unroll(T.int64(6)):
                    for vj_i_0 in T.unroll(T.int64(2)):
                        with T.sblock("sum_update_o"):
                            vi_o, vj_o, vk_o = T.axis.remap("SSR", [vi_i, vj_i_0, vk_i])
                            vp_o = T.axis.reduce(T.int64(1), T.int64(0))
                            T.reads(acc[vi_o, vj_o * T.int64(8):vj_o * T.int64(8) + T.int64(8)], x[vi_o, vk_o * T.int64(2) + vp_o * T.int64(2):vk_o * T.int64(2) + vp_o * T.int64(2) + T.int64(2)], w[vj_o, vk_o, T.int64(0):T.int64(8), vp_o * T.int64(2):vp_o * T.int64(2) + T.int64(2)])
                            T.writes(acc[vi_o, vj_o * T.int64(8):vj_o * T.int64(8) + T.int64(8)])
                            a_at = T.int64()
                            A = T.match_buffer(x[vi_o, vk_o * T.int64(2):vk_o * T.int64(2) + T.int64(2)], (2,), "int16", strides=[1], elem_offset=a_at)
                            b_at = T.int64()
                            B = T.match_buffer(w[vj_o, vk_o, T.int64(0):T.int64(8), T.int64(0):T.int64(2)], (8, 2), "int16", strides=[2, 1], elem_offset=b_at)
                            C = T.match_buffer(acc[vi_o, vj_o * T.int64(8):vj_o * T.int64(8) + T.int64(8)], (8,), "int32")
                            T.sblock_attr({"tensor_intrin": "cpu.dot2_8"})
                            with T.attr(0, "pragma_import_c", "#if defined(__clang__) || defined(__AVXVNNI__) || defined(__AVX512VNNI__)\n#include <immintrin.h>\n#endif\ntypedef int32_t tk_dot_c8 __attribute__((vector_size(32)));\ntypedef int16_t tk_dot_b8 __attribute__((vector_size(32)));\nstatic inline __attribute__((always_inline)) tk_dot_c8\ntk_dot2_8(tk_dot_c8 c, const void *a, const void *b)\n{\n    int32_t x;\n    tk_dot_b8 w;\n    __builtin_memcpy(&x, a, 4);\n    __builtin_memcpy(&w, b, 32);\n    const tk_dot_c8 v = {x, x, x, x, x, x, x, x};\n#if defined(__AVXVNNI__)\n    return (tk_dot_c8)_mm256_dpwssd_avx_epi32((__m256i)c, (__m256i)v, (__m256i)w);\n#elif defined(__AVX512VNNI__) && defined(__AVX512VL__)\n    return (tk_dot_c8)_mm256_dpwssd_epi32((__m256i)c, (__m256i)v, (__m256i)w);\n#elif defined(__clang__) && defined(__AVX2__)\n    return c + (tk_dot_c8)_mm256_madd_epi16((__m256i)v, (__m256i)w);\n#elif defined(__AVX2__)\n    return c + (tk_dot_c8)__builtin_ia32_pmaddwd256((tk_dot_b8)v, w);\n#endif\n    const tk_dot_b8 y = (tk_dot_b8)v;\n    for (int i = 0; i < 8; i++)\n        c[i] += (int32_t)y[2 * i] * w[2 * i] + (int32_t)y[2 * i + 1] * w[2 * i + 1];\n    return c;\n}\n"):
                                C[T.Ramp(0, 1, 8)] = T.call_pure_extern("int32x8", "tk_dot2_8", C[T.Ramp(0, 1, 8)], T.tvm_access_ptr(T.type_annotation("int16"), A.data, a_at, 2, 1), T.tvm_access_ptr(T.type_annotation("int16"), B.data, b_at, 16, 1))
            for i_1 in T.unroll(T.int64(6)):
                for j_1_0 in T.unroll(T.int64(2)):
                    for j_1_1 in T.vectorized(T.int64(8)):
                        with T.sblock("cut"):
                            vi = T.axis.spatial(T.int64(6), i_0 * T.int64(6) + i_1)
                            vj = T.axis.spatial(T.int64(16), j_0 * T.int64(16) + (j_1_0 * T.int64(8) + j_1_1))
                            T.reads(acc[vi, vj])
                            T.writes(y[vi, vj])
                            y[vi, vj] = T.Cast("int16", acc[vi, vj])
