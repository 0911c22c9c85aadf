# SPDX-License-Identifier: Apache-2.0
# Fours of bytes, 16 rows and more: tiles of AMX.
# target: {"kind": "cpu", "mcpu": "x86-64-v4", "features": ["amx-tile", "amx-int8"]}
# passes: ApplyDefaultSchedule{rules=[Dot]}
@I.ir_module
class Before:
    @T.prim_func
    def f(x: T.Buffer((T.int64(32), T.int64(128)), "uint8"), w: T.Buffer((T.int64(1), T.int64(32), T.int64(16), T.int64(4)), "int8"), y: T.Buffer((T.int64(32), T.int64(16)), "int32")):
        T.func_attr({"tirx.noalias": True})
        for i, j, k, p in T.grid(T.int64(32), T.int64(16), T.int64(32), T.int64(4)):
            with T.sblock("sum"):
                vi, vj, vk, vp = T.axis.remap("SSRR", [i, j, k, p])
                with T.init():
                    y[vi, vj] = 0
                y[vi, vj] = y[vi, vj] + T.Cast("int32", x[vi, vk * T.int64(4) + vp]) * T.Cast("int32", w[vj // T.int64(16), vk, vj % T.int64(16), vp])
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def f(x: T.Buffer((T.int64(32), T.int64(128)), "uint8"), w: T.Buffer((T.int64(1), T.int64(32), T.int64(16), T.int64(4)), "int8"), y: T.Buffer((T.int64(32), T.int64(16)), "int32")):
        T.func_attr({"tirx.is_scheduled": True, "tirx.noalias": True})
        # with T.sblock("root"):
        y_global = T.sblock_alloc_buffer((T.int64(32), T.int64(16)), "int32")
        for ax0_0 in T.parallel(T.int64(2)):
            for ax1_0 in range(T.int64(1)):
                for vi_i_init in range(T.int64(16)):
                    for vj_i_init in T.vectorized(T.int64(16)):
                        with T.sblock("sum_init"):
                            vi_init = T.axis.spatial(T.int64(32), ax0_0 * T.int64(16) + vi_i_init)
                            vj_init = T.axis.remap("S", [vj_i_init])
                            T.reads()
                            T.writes(y_global[vi_init, vj_init])
                            y_global[vi_init, vj_init] = 0
                for vk_i_0 in range(T.int64(2)):
                    with T.sblock("sum_update_o"):
                        vi_o = T.axis.remap("S", [ax0_0])
                        vj_o = T.axis.spatial(T.int64(1), T.int64(0))
                        vk_o = T.axis.remap("R", [vk_i_0])
                        vp_o = T.axis.reduce(T.int64(1), T.int64(0))
                        T.reads(y_global[vi_o * T.int64(16):vi_o * T.int64(16) + T.int64(16), vj_o * T.int64(16):vj_o * T.int64(16) + T.int64(16)], x[vi_o * T.int64(16):vi_o * T.int64(16) + T.int64(16), vk_o * T.int64(64) + vp_o * T.int64(4):vk_o * T.int64(64) + vp_o * T.int64(4) + T.int64(64)], w[T.int64(0), vk_o * T.int64(16):vk_o * T.int64(16) + T.int64(16), vj_o * T.int64(16):vj_o * T.int64(16) + T.int64(16), vp_o * T.int64(4):vp_o * T.int64(4) + T.int64(4)])
                        T.writes(y_global[vi_o * T.int64(16):vi_o * T.int64(16) + T.int64(16), vj_o * T.int64(16):vj_o * T.int64(16) + T.int64(16)])
                        a_row = T.int64()
                        a_at = T.int64()
                        A = T.match_buffer(x[vi_o * T.int64(16):vi_o * T.int64(16) + T.int64(16), vk_o * T.int64(64):vk_o * T.int64(64) + T.int64(64)], (16, 64), "uint8", strides=[a_row, 1], elem_offset=a_at)
                        b_at = T.int64()
                        B = T.match_buffer(w[T.int64(0), vk_o * T.int64(16):vk_o * T.int64(16) + T.int64(16), T.int64(0):T.int64(16), T.int64(0):T.int64(4)], (16, 16, 4), "int8", strides=[64, 4, 1], elem_offset=b_at)
                        c_row = T.int64()
                        c_at = T.int64()
                        C = T.match_buffer(y_global[vi_o * T.int64(16):vi_o * T.int64(16) + T.int64(16), T.int64(0):T.int64(16)], (16, 16), "int32", strides=[c_row, 1], elem_offset=c_at)
                        T.sblock_attr({"tensor_intrin": "cpu.amx_u8s8_1"})
                        with T.attr(0, "pragma_import_c", "#if defined(__AMX_TILE__) && defined(__AMX_INT8__)\n#include <immintrin.h>\n#ifndef TK_TILES\n#define TK_TILES\nextern __attribute__((weak, visibility(\"default\"))) const char tenon_cpu_tiles;\n__attribute__((weak, visibility(\"default\"))) const char tenon_cpu_tiles = 1;\n#endif\n#endif\nstatic inline void\ntk_amx_u8s8_1(const void *a, int64_t as, const void *b, void *c, int64_t cs)\n{\n#if defined(__AMX_TILE__) && defined(__AMX_INT8__)\n    __asm__ volatile(\"\" : : : \"memory\");\n    _tile_loadd(0, c, cs * 4);\n    for (int s = 0; s < 1; s++) {\n        _tile_loadd(1, (const char *)a + 64 * s, as * (4 / 4));\n        _tile_loadd(2, (const char *)b + 1024 * s, 64);\n        _tile_dpbusd(0, 1, 2);\n    }\n    _tile_stored(0, c, cs * 4);\n    __asm__ volatile(\"\" : : : \"memory\");\n#else\n    const uint8_t *x = a;\n    const int8_t *w = b;\n    int32_t *sums = c;\n#define LEFT(v) (int32_t)(v)\n#define RIGHT(v) (int32_t)(v)\n    for (int i = 0; i < 16; i++)\n        for (int k = 0; k < 16; k++)\n            for (int j = 0; j < 16; j++)\n                for (int p = 0; p < 4; p++)\n                    sums[i * cs + j] += LEFT(x[i * as + k * 4 + p]) * RIGHT(w[(k * 16 + j) * 4 + p]);\n#undef LEFT\n#undef RIGHT\n#endif\n}\n"):
                            T.call_extern("void", "tk_amx_u8s8_1", T.tvm_access_ptr(T.type_annotation("uint8"), A.data, a_at, T.int64(16) * a_row, 1), a_row, T.tvm_access_ptr(T.type_annotation("int8"), B.data, b_at, 1024, 1), T.tvm_access_ptr(T.type_annotation("int32"), C.data, c_at, T.int64(16) * c_row, 3), c_row)
                for ax0_1 in T.unroll(T.int64(16)):
                    for ax1_1_0 in T.unroll(T.int64(1)):
                        for ax1_1_1 in T.vectorized(T.int64(16)):
                            with T.sblock("y_global"):
                                v0 = T.axis.spatial(T.int64(32), ax0_0 * T.int64(16) + ax0_1)
                                v1 = T.axis.spatial(T.int64(16), ax1_0 * T.int64(16) + (ax1_1_0 * T.int64(16) + ax1_1_1))
                                T.reads(y_global[v0, v1])
                                T.writes(y[v0, v1])
                                y[v0, v1] = y_global[v0, v1]
