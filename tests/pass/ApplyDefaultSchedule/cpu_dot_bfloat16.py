# SPDX-License-Identifier: Apache-2.0
# Pairs of bfloat16, summed in float32: tiles of the tensor intrinsic of sixteen lanes.
# target: {"kind": "cpu", "mcpu": "x86-64-v4", "features": ["avx512bf16"]}
# passes: ApplyDefaultSchedule{rules=[Dot]}
@I.ir_module
class Before:
    @T.prim_func
    def f(x: T.Buffer((T.int64(6), T.int64(4)), "bfloat16"), w: T.Buffer((T.int64(1), T.int64(2), T.int64(16), T.int64(2)), "bfloat16"), y: T.Buffer((T.int64(6), T.int64(16)), "bfloat16")):
        T.func_attr({"tirx.noalias": True})
        acc = T.sblock_alloc_buffer((T.int64(6), T.int64(16)), "float32")
        for i, j, k, p in T.grid(T.int64(6), T.int64(16), T.int64(2), T.int64(2)):
            with T.sblock("sum"):
                vi, vj, vk, vp = T.axis.remap("SSRR", [i, j, k, p])
                with T.init():
                    acc[vi, vj] = T.float32(0)
                acc[vi, vj] = acc[vi, vj] + T.Cast("float32", x[vi, vk * T.int64(2) + vp]) * T.Cast("float32", w[vj // T.int64(16), vk, vj % T.int64(16), vp])
        for i, j in T.grid(T.int64(6), T.int64(16)):
            with T.sblock("cut"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = T.Cast("bfloat16", acc[vi, vj])
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def f(x: T.Buffer((T.int64(6), T.int64(4)), "bfloat16"), w: T.Buffer((T.int64(1), T.int64(2), T.int64(16), T.int64(2)), "bfloat16"), y: T.Buffer((T.int64(6), T.int64(16)), "bfloat16")):
        T.func_attr({"tirx.is_scheduled": True, "tirx.noalias": True})
        # with T.sblock("root"):
        acc = T.sblock_alloc_buffer((T.int64(6), T.int64(16)))
        for i_0, j_0 in T.grid(T.int64(1), T.int64(1)):
            for vi_i_init in T.unroll(T.int64(6)):
                for vj_i_0_init in T.unroll(T.int64(1)):
                    for vj_i_1_init in T.vectorized(T.int64(16)):
                        with T.sblock("sum_init"):
                            vi_init = T.axis.remap("S", [vi_i_init])
                            vj_init = T.axis.spatial(T.int64(16), vj_i_0_init * T.int64(16) + vj_i_1_init)
                            T.reads()
                            T.writes(acc[vi_init, vj_init])
                            acc[vi_init, vj_init] = T.float32(0.0)
            for vk_i in range(T.int64(2)):
                for vi_i in T.unroll(T.int64(6)):
                    for vj_i_0 in T.unroll(T.int64(1)):
                        with T.sblock("sum_update_o"):
                            vi_o = T.axis.remap("S", [vi_i])
                            vj_o = T.axis.spatial(T.int64(1), T.int64(0))
                            vk_o = T.axis.remap("R", [vk_i])
                            vp_o = T.axis.reduce(T.int64(1), T.int64(0))
                            T.reads(acc[vi_o, vj_o * T.int64(16):vj_o * T.int64(16) + T.int64(16)], x[vi_o, vk_o * T.int64(2) + vp_o * T.int64(2):vk_o * T.int64(2) + vp_o * T.int64(2) + T.int64(2)], w[T.int64(0), vk_o, vj_o * T.int64(16):vj_o * T.int64(16) + T.int64(16), vp_o * T.int64(2):vp_o * T.int64(2) + T.int64(2)])
                            T.writes(acc[vi_o, vj_o * T.int64(16):vj_o * T.int64(16) + T.int64(16)])
                            a_at = T.int64()
                            A = T.match_buffer(x[vi_o, vk_o * T.int64(2):vk_o * T.int64(2) + T.int64(2)], (2,), "bfloat16", strides=[1], elem_offset=a_at)
                            b_at = T.int64()
                            B = T.match_buffer(w[T.int64(0), vk_o, T.int64(0):T.int64(16), T.int64(0):T.int64(2)], (16, 2), "bfloat16", strides=[2, 1], elem_offset=b_at)
                            C = T.match_buffer(acc[vi_o, T.int64(0):T.int64(16)], (16,))
                            T.sblock_attr({"tensor_intrin": "cpu.dotbf_16"})
                            with T.attr(0, "pragma_import_c", "#if defined(__AVX512BF16__)\n#include <immintrin.h>\n#endif\ntypedef float tk_dotbf_c16 __attribute__((vector_size(64)));\ntypedef uint32_t tk_dotbf_b16 __attribute__((vector_size(64)));\nstatic inline __attribute__((always_inline)) tk_dotbf_c16\ntk_dotbf_16(tk_dotbf_c16 c, const void *a, const void *b)\n{\n    uint32_t x;\n    tk_dotbf_b16 w;\n    __builtin_memcpy(&x, a, 4);\n    __builtin_memcpy(&w, b, 64);\n    const tk_dotbf_b16 v = {x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};\n#if defined(__AVX512BF16__)\n    return (tk_dotbf_c16)_mm512_dpbf16_ps((__m512)c, (__m512bh)v, (__m512bh)w);\n#endif\n    c += (tk_dotbf_c16)(v << 16) * (tk_dotbf_c16)(w << 16);\n    c += (tk_dotbf_c16)(v & 0xffff0000u) * (tk_dotbf_c16)(w & 0xffff0000u);\n    return c;\n}\n"):
                                C[T.Ramp(0, 1, 16)] = T.call_pure_extern("float32x16", "tk_dotbf_16", C[T.Ramp(0, 1, 16)], T.tvm_access_ptr(T.type_annotation("bfloat16"), A.data, a_at, 2, 1), T.tvm_access_ptr(T.type_annotation("bfloat16"), B.data, b_at, 32, 1))
            for i_1 in T.unroll(T.int64(6)):
                for j_1_0 in T.unroll(T.int64(1)):
                    for j_1_1 in T.vectorized(T.int64(16)):
                        with T.sblock("cut"):
                            vi = T.axis.spatial(T.int64(6), i_0 * T.int64(6) + i_1)
                            vj = T.axis.spatial(T.int64(16), j_0 * T.int64(16) + (j_1_0 * T.int64(16) + j_1_1))
                            T.reads(acc[vi, vj])
                            T.writes(y[vi, vj])
                            y[vi, vj] = T.Cast("bfloat16", acc[vi, vj])
