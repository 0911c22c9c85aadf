/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor intrinsics of the cpu target: products of matrix tiles (AMX), of 16 rows of 64 bytes.
 *
 *     for i, j < 16: for k < 16 * steps: for p < group:
 *         C[i, j] = C[i, j] + A[i, group * k + p] * B[k, j, p]
 *
 * B lies as legalize_dot.c packs constants. A group is four bytes (tdpbusd, tdpbssd) or two bfloat16
 * (tdpbf16ps). The device half configures the tiles before a kernel runs and in each thread of its
 * team, for objects that export CPU_TILES_SYMBOL (tiles.h). Without the feature the function is plain C
 * that reads the operands as the tiles do.
 */
#include "cpu.h"
#include "tenon/kit/tensor_intrin.h"

/* KB: 16 * steps; KA: group * KB, elements of a row of A; STEPS tiles of it. SCALAR: C source that
 * declares the operands x and w and the sums, and how LEFT and RIGHT make an element a number. */
#define TILES(fn, g, ka, kb, steps, left, right, out, feature, instruction, scalar)            \
    "@I.ir_module\n"                                                                           \
    "class Intrin:\n"                                                                          \
    "    @T.prim_func\n"                                                                       \
    "    def desc(a: T.handle, b: T.handle, c: T.handle):\n"                                   \
    "        A = T.match_buffer(a, (16, " ka "), '" left "')\n"                                \
    "        B = T.match_buffer(b, (" kb ", 16, " g "), '" right "')\n"                        \
    "        C = T.match_buffer(c, (16, 16), '" out "')\n"                                     \
    "        for i, j, k, p in T.grid(16, 16, " kb ", " g "):\n"                               \
    "            with T.sblock('dot'):\n"                                                      \
    "                vi, vj, vk, vp = T.axis.remap('SSRR', [i, j, k, p])\n"                    \
    "                C[vi, vj] = C[vi, vj] + T.Cast('" out "', A[vi, vk * " g                  \
    " + vp]) * T.Cast('" out "', B[vk, vj, vp])\n"                                             \
    "    @T.prim_func\n"                                                                       \
    "    def impl(a: T.handle, b: T.handle, c: T.handle):\n"                                   \
    "        a_at = T.int64()\n"                                                               \
    "        a_row = T.int64()\n"                                                              \
    "        b_at = T.int64()\n"                                                               \
    "        c_at = T.int64()\n"                                                               \
    "        c_row = T.int64()\n"                                                              \
    "        A = T.match_buffer(a, (16, " ka "), '" left                                       \
    "', strides=[a_row, 1], elem_offset=a_at, offset_factor=1)\n"                              \
    "        B = T.match_buffer(b, (" kb ", 16, " g "), '" right "', strides=[16 * " g ", " g  \
    ", 1], elem_offset=b_at, offset_factor=1)\n"                                               \
    "        C = T.match_buffer(c, (16, 16), '" out                                            \
    "', strides=[c_row, 1], elem_offset=c_at, offset_factor=1)\n"                              \
    "        with T.sblock('root'):\n"                                                         \
    "            T.reads(A[0:16, 0:" ka "], B[0:" kb ", 0:16, 0:" g "], C[0:16, 0:16])\n"      \
    "            T.writes(C[0:16, 0:16])\n"                                                    \
    "            T.attr(0, 'pragma_import_c', '"                                               \
    "#if defined(__AMX_TILE__) && defined(" feature ")\\n"                                     \
    "#include <immintrin.h>\\n"                                                                \
    "#ifndef TK_TILES\\n"                                                                      \
    "#define TK_TILES\\n"                                                                      \
    "extern __attribute__((weak, visibility(\"default\"))) const char tenon_cpu_tiles;\\n"     \
    "__attribute__((weak, visibility(\"default\"))) const char tenon_cpu_tiles = 1;\\n"        \
    "#endif\\n"                                                                                \
    "#endif\\n"                                                                                \
    "static inline void\\n" fn                                                                 \
    "(const void *a, int64_t as, const void *b, void *c, int64_t cs)\\n"                       \
    "{\\n"                                                                                     \
    "#if defined(__AMX_TILE__) && defined(" feature ")\\n"                                     \
    "    __asm__ volatile(\"\" : : : \"memory\");\\n"                                          \
    "    _tile_loadd(0, c, cs * 4);\\n"                                                        \
    "    for (int s = 0; s < " steps "; s++) {\\n"                                             \
    "        _tile_loadd(1, (const char *)a + 64 * s, as * (4 / " g "));\\n"                   \
    "        _tile_loadd(2, (const char *)b + 1024 * s, 64);\\n"                               \
    "        " instruction "(0, 1, 2);\\n"                                                     \
    "    }\\n"                                                                                 \
    "    _tile_stored(0, c, cs * 4);\\n"                                                       \
    "    __asm__ volatile(\"\" : : : \"memory\");\\n"                                          \
    "#else\\n" scalar "    for (int i = 0; i < 16; i++)\\n"                                    \
    "        for (int k = 0; k < " kb "; k++)\\n"                                              \
    "            for (int j = 0; j < 16; j++)\\n"                                              \
    "                for (int p = 0; p < " g "; p++)\\n"                                       \
    "                    sums[i * cs + j] += LEFT(x[i * as + k * " g                           \
    " + p]) * RIGHT(w[(k * 16 + j) * " g " + p]);\\n"                                          \
    "#undef LEFT\\n"                                                                           \
    "#undef RIGHT\\n"                                                                          \
    "#endif\\n"                                                                                \
    "}\\n')\n"                                                                                 \
    "            T.evaluate(T.call_extern('void', '" fn                                        \
    "', T.tvm_access_ptr(T.type_annotation('" left                                             \
    "'), A.data, A.elem_offset, 16 * a_row, 1), a_row, "                                       \
    "T.tvm_access_ptr(T.type_annotation('" right "'), B.data, B.elem_offset, 16 * " g " * " kb \
    ", 1), T.tvm_access_ptr(T.type_annotation('" out                                           \
    "'), C.data, C.elem_offset, 16 * c_row, 3), c_row))\n"

#define BYTES(type)                   \
    "    const " type " *x = a;\\n"   \
    "    const int8_t *w = b;\\n"     \
    "    int32_t *sums = c;\\n"       \
    "#define LEFT(v) (int32_t)(v)\\n" \
    "#define RIGHT(v) (int32_t)(v)\\n"

#define BFLOATS                                                                  \
    "    const uint16_t *x = a, *w = b;\\n"                                      \
    "    float *sums = c;\\n"                                                    \
    "#define LEFT(v) ((union {uint32_t u; float f;}){(uint32_t)(v) << 16}.f)\\n" \
    "#define RIGHT(v) ((union {uint32_t u; float f;}){(uint32_t)(v) << 16}.f)\\n"

#define INTRIN(id, what, ...)                                                              \
    {                                                                                      \
        .base.size = sizeof(tnk_tensor_intrin), .base.name = "cpu." #id, .base.doc = what, \
        .text = TILES("tk_" #id, __VA_ARGS__),                                             \
    }

const tnk_tensor_intrin cpu_tile_intrins[CPU_N_TILE_INTRINS] = {
    INTRIN(amx_u8s8_1, "a tile of uint8 times one of int8, added to int32: tdpbusd", "4", "64",
           "16", "1", "uint8", "int8", "int32", "__AMX_INT8__", "_tile_dpbusd", BYTES("uint8_t")),
    INTRIN(amx_u8s8_4, "four tiles of uint8 times four of int8, added to int32: tdpbusd", "4",
           "256", "64", "4", "uint8", "int8", "int32", "__AMX_INT8__", "_tile_dpbusd",
           BYTES("uint8_t")),
    INTRIN(amx_s8s8_1, "a tile of int8 times one of int8, added to int32: tdpbssd", "4", "64", "16",
           "1", "int8", "int8", "int32", "__AMX_INT8__", "_tile_dpbssd", BYTES("int8_t")),
    INTRIN(amx_s8s8_4, "four tiles of int8 times four of int8, added to int32: tdpbssd", "4", "256",
           "64", "4", "int8", "int8", "int32", "__AMX_INT8__", "_tile_dpbssd", BYTES("int8_t")),
    INTRIN(amx_bf16_1, "a tile of bfloat16 times another, added to float32: tdpbf16ps", "2", "32",
           "16", "1", "bfloat16", "bfloat16", "float32", "__AMX_BF16__", "_tile_dpbf16ps", BFLOATS),
    INTRIN(amx_bf16_4, "four tiles of bfloat16 times four others, added to float32: tdpbf16ps", "2",
           "128", "64", "4", "bfloat16", "bfloat16", "float32", "__AMX_BF16__", "_tile_dpbf16ps",
           BFLOATS)};
