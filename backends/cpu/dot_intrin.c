/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor intrinsics of the cpu target: a pair of 16-bit numbers times pairs of a whole vector, added in
 * 32 bits.
 *
 *     for j < lanes: for p < 2: C[j] = C[j] + A[p] * B[j, p]
 *
 * The pair is read as one number of 32 bits and broadcast; one instruction multiplies and adds the
 * pairs (pmaddwd for int16), and with VNNI adds to C as well (vpdpwssd); AVX-512 BF16 does all three for
 * bfloat16 (vdpbf16ps). Bytes come in fours: uint8 times int8, with VNNI one instruction (vpdpbusd). Which one it is the C
 * compiler knows by the target's features; without any of them the function is plain C.
 */
#include "cpu.h"
#include "tenon/kit/tensor_intrin.h"

/* LANES sums of type OUT of G products each. IMPORT: C source of the function FN. */
#define DOT(lanes, g, left, right, out, fn, import)                                             \
    "@I.ir_module\n"                                                                            \
    "class Intrin:\n"                                                                           \
    "    @T.prim_func\n"                                                                        \
    "    def desc(a: T.handle, b: T.handle, c: T.handle):\n"                                    \
    "        A = T.match_buffer(a, (" g ",), '" left "')\n"                                     \
    "        B = T.match_buffer(b, (" lanes ", " g "), '" right "')\n"                          \
    "        C = T.match_buffer(c, (" lanes ",), '" out "')\n"                                  \
    "        for j, p in T.grid(" lanes ", " g "):\n"                                           \
    "            with T.sblock('dot'):\n"                                                       \
    "                vj, vp = T.axis.remap('SR', [j, p])\n"                                     \
    "                C[vj] = C[vj] + T.Cast('" out "', A[vp]) * T.Cast('" out "', B[vj, vp])\n" \
    "    @T.prim_func\n"                                                                        \
    "    def impl(a: T.handle, b: T.handle, c: T.handle):\n"                                    \
    "        a_at = T.int64()\n"                                                                \
    "        b_at = T.int64()\n"                                                                \
    "        A = T.match_buffer(a, (" g ",), '" left "', strides=[1], elem_offset=a_at, "       \
    "offset_factor=1)\n"                                                                        \
    "        B = T.match_buffer(b, (" lanes ", " g "), '" right "', strides=[" g                \
    ", 1], elem_offset=b_at, offset_factor=1)\n"                                                \
    "        C = T.match_buffer(c, (" lanes ",), '" out "')\n"                                  \
    "        with T.sblock('root'):\n"                                                          \
    "            T.reads(A[0:" g "], B[0:" lanes ", 0:" g "], C[0:" lanes "])\n"                \
    "            T.writes(C[0:" lanes "])\n"                                                    \
    "            T.attr(0, 'pragma_import_c', '" import "')\n"                                  \
    "            C[T.Ramp(0, 1, " lanes ")] = T.call_pure_extern('" out "x" lanes "', '" fn     \
    "', C[T.Ramp(0, 1, " lanes ")], T.tvm_access_ptr(T.type_annotation('" left                  \
    "'), A.data, A.elem_offset, " g ", 1), T.tvm_access_ptr(T.type_annotation('" right          \
    "'), B.data, B.elem_offset, " g " * " lanes ", 1))\n"

/* LANES times 32 bits in BYTES. PAIR: lanes of the broadcast; BODY: statements that may return. */
#define DOT2_INT16(lanes, bytes, pair, body)                                                  \
    DOT(lanes, "2", "int16", "int16", "int32", "tk_dot2_" lanes,                              \
        "#if defined(__clang__) || defined(__AVXVNNI__) || defined(__AVX512VNNI__)\\n"        \
        "#include <immintrin.h>\\n"                                                           \
        "#endif\\n"                                                                           \
        "typedef int32_t tk_dot_c" lanes " __attribute__((vector_size(" bytes ")));\\n"       \
        "typedef int16_t tk_dot_b" lanes " __attribute__((vector_size(" bytes ")));\\n"       \
        "static inline __attribute__((always_inline)) tk_dot_c" lanes "\\n"                   \
        "tk_dot2_" lanes "(tk_dot_c" lanes " c, const void *a, const void *b)\\n"             \
        "{\\n"                                                                                \
        "    int32_t x;\\n"                                                                   \
        "    tk_dot_b" lanes " w;\\n"                                                         \
        "    __builtin_memcpy(&x, a, 4);\\n"                                                  \
        "    __builtin_memcpy(&w, b, " bytes ");\\n"                                          \
        "    const tk_dot_c" lanes " v = {" pair "};\\n" body "    const tk_dot_b" lanes      \
        " y = (tk_dot_b" lanes ")v;\\n"                                                       \
        "    for (int i = 0; i < " lanes "; i++)\\n"                                          \
        "        c[i] += (int32_t)y[2 * i] * w[2 * i] + (int32_t)y[2 * i + 1] * w[2 * i + 1]" \
        ";\\n"                                                                                \
        "    return c;\\n"                                                                    \
        "}\\n")

/* The same; a bfloat16 is the upper half of a float32. */
#define DOT2_BF16(lanes, bytes, pair, body)                                                  \
    DOT(lanes, "2", "bfloat16", "bfloat16", "float32", "tk_dotbf_" lanes,                    \
        "#if defined(__AVX512BF16__)\\n"                                                     \
        "#include <immintrin.h>\\n"                                                          \
        "#endif\\n"                                                                          \
        "typedef float tk_dotbf_c" lanes " __attribute__((vector_size(" bytes ")));\\n"      \
        "typedef uint32_t tk_dotbf_b" lanes " __attribute__((vector_size(" bytes ")));\\n"   \
        "static inline __attribute__((always_inline)) tk_dotbf_c" lanes "\\n"                \
        "tk_dotbf_" lanes "(tk_dotbf_c" lanes " c, const void *a, const void *b)\\n"         \
        "{\\n"                                                                               \
        "    uint32_t x;\\n"                                                                 \
        "    tk_dotbf_b" lanes " w;\\n"                                                      \
        "    __builtin_memcpy(&x, a, 4);\\n"                                                 \
        "    __builtin_memcpy(&w, b, " bytes ");\\n"                                         \
        "    const tk_dotbf_b" lanes " v = {" pair "};\\n" body "    c += (tk_dotbf_c" lanes \
        ")(v << 16) * (tk_dotbf_c" lanes ")(w << 16);\\n"                                    \
        "    c += (tk_dotbf_c" lanes ")(v & 0xffff0000u) * (tk_dotbf_c" lanes                \
        ")(w & 0xffff0000u);\\n"                                                             \
        "    return c;\\n"                                                                   \
        "}\\n")

/* The same of four uint8 and four int8. */
#define DOT4(lanes, bytes, quad, body)                                                     \
    DOT(lanes, "4", "uint8", "int8", "int32", "tk_dot4_" lanes,                            \
        "#if defined(__AVXVNNI__) || defined(__AVX512VNNI__)\\n"                           \
        "#include <immintrin.h>\\n"                                                        \
        "#endif\\n"                                                                        \
        "typedef int32_t tk_dot4_c" lanes " __attribute__((vector_size(" bytes ")));\\n"   \
        "typedef int8_t tk_dot4_b" lanes " __attribute__((vector_size(" bytes ")));\\n"    \
        "typedef uint8_t tk_dot4_a" lanes " __attribute__((vector_size(" bytes ")));\\n"   \
        "static inline __attribute__((always_inline)) tk_dot4_c" lanes "\\n"               \
        "tk_dot4_" lanes "(tk_dot4_c" lanes " c, const void *a, const void *b)\\n"         \
        "{\\n"                                                                             \
        "    int32_t x;\\n"                                                                \
        "    tk_dot4_b" lanes " w;\\n"                                                     \
        "    __builtin_memcpy(&x, a, 4);\\n"                                               \
        "    __builtin_memcpy(&w, b, " bytes ");\\n"                                       \
        "    const tk_dot4_c" lanes " v = {" quad "};\\n" body "    const tk_dot4_a" lanes \
        " y = (tk_dot4_a" lanes ")v;\\n"                                                   \
        "    for (int i = 0; i < 4 * " lanes "; i++)\\n"                                   \
        "        c[i / 4] += y[i] * w[i];\\n"                                              \
        "    return c;\\n"                                                                 \
        "}\\n")

#define X4 "x, x, x, x"
#define X8 X4 ", " X4

#define INTRIN(its_name, its_doc, its_text)                                                 \
    {                                                                                       \
        .base.size = sizeof(tnk_tensor_intrin), .base.name = its_name, .base.doc = its_doc, \
        .text = its_text                                                                    \
    }

/* By name. */
static const tnk_tensor_intrin dots[] = {
    INTRIN("cpu.dot2_16",
           "a pair of int16 times sixteen pairs, added to int32: vpmaddwd of AVX-512BW, vpdpwssd "
           "of AVX-512VNNI",
           DOT2_INT16("16", "64", X8 ", " X8,
                      "#if defined(__AVX512VNNI__)\\n"
                      "    return (tk_dot_c16)_mm512_dpwssd_epi32((__m512i)c, (__m512i)v, "
                      "(__m512i)w);\\n"
                      "#elif defined(__clang__) && defined(__AVX512BW__)\\n"
                      "    return c + (tk_dot_c16)_mm512_madd_epi16((__m512i)v, (__m512i)w);\\n"
                      "#elif defined(__AVX512BW__)\\n"
                      "    return c + (tk_dot_c16)__builtin_ia32_pmaddwd512_mask((tk_dot_b16)v, w, "
                      "(tk_dot_c16){0}, -1);\\n"
                      "#endif\\n")),
    INTRIN("cpu.dot2_4", "a pair of int16 times four pairs, added to int32: pmaddwd of SSE2",
           DOT2_INT16("4", "16", X4,
                      "#if defined(__clang__) && defined(__SSE2__)\\n"
                      "    return c + (tk_dot_c4)_mm_madd_epi16((__m128i)v, (__m128i)w);\\n"
                      "#elif defined(__SSE2__)\\n"
                      "    return c + (tk_dot_c4)__builtin_ia32_pmaddwd128((tk_dot_b4)v, w);\\n"
                      "#endif\\n")),
    INTRIN("cpu.dot2_8",
           "a pair of int16 times eight pairs, added to int32: vpmaddwd of AVX2, vpdpwssd of VNNI",
           DOT2_INT16(
               "8", "32", X8,
               "#if defined(__AVXVNNI__)\\n"
               "    return (tk_dot_c8)_mm256_dpwssd_avx_epi32((__m256i)c, (__m256i)v, "
               "(__m256i)w);\\n"
               "#elif defined(__AVX512VNNI__) && defined(__AVX512VL__)\\n"
               "    return (tk_dot_c8)_mm256_dpwssd_epi32((__m256i)c, (__m256i)v, (__m256i)w);\\n"
               "#elif defined(__clang__) && defined(__AVX2__)\\n"
               "    return c + (tk_dot_c8)_mm256_madd_epi16((__m256i)v, (__m256i)w);\\n"
               "#elif defined(__AVX2__)\\n"
               "    return c + (tk_dot_c8)__builtin_ia32_pmaddwd256((tk_dot_b8)v, w);\\n"
               "#endif\\n")),
    INTRIN(
        "cpu.dot4_16", "four uint8 times sixteen times four int8, added to int32: vpdpbusd",
        DOT4("16", "64", X8 ", " X8,
             "#if defined(__AVX512VNNI__)\\n"
             "    return (tk_dot4_c16)_mm512_dpbusd_epi32((__m512i)c, (__m512i)v, (__m512i)w);\\n"
             "#endif\\n")),
    INTRIN(
        "cpu.dot4_4", "four uint8 times four times four int8, added to int32: vpdpbusd",
        DOT4("4", "16", X4,
             "#if defined(__AVXVNNI__)\\n"
             "    return (tk_dot4_c4)_mm_dpbusd_avx_epi32((__m128i)c, (__m128i)v, (__m128i)w);\\n"
             "#elif defined(__AVX512VNNI__) && defined(__AVX512VL__)\\n"
             "    return (tk_dot4_c4)_mm_dpbusd_epi32((__m128i)c, (__m128i)v, (__m128i)w);\\n"
             "#endif\\n")),
    INTRIN(
        "cpu.dot4_8", "four uint8 times eight times four int8, added to int32: vpdpbusd",
        DOT4(
            "8", "32", X8,
            "#if defined(__AVXVNNI__)\\n"
            "    return (tk_dot4_c8)_mm256_dpbusd_avx_epi32((__m256i)c, (__m256i)v, (__m256i)w);\\n"
            "#elif defined(__AVX512VNNI__) && defined(__AVX512VL__)\\n"
            "    return (tk_dot4_c8)_mm256_dpbusd_epi32((__m256i)c, (__m256i)v, (__m256i)w);\\n"
            "#endif\\n")),
    INTRIN("cpu.dotbf_16",
           "a pair of bfloat16 times sixteen pairs, added to float32: vdpbf16ps of AVX-512 BF16",
           DOT2_BF16("16", "64", X8 ", " X8,
                     "#if defined(__AVX512BF16__)\\n"
                     "    return (tk_dotbf_c16)_mm512_dpbf16_ps((__m512)c, (__m512bh)v, "
                     "(__m512bh)w);\\n"
                     "#endif\\n")),
    INTRIN("cpu.dotbf_4", "a pair of bfloat16 times four pairs, added to float32",
           DOT2_BF16("4", "16", X4,
                     "#if defined(__AVX512BF16__) && defined(__AVX512VL__)\\n"
                     "    return (tk_dotbf_c4)_mm_dpbf16_ps((__m128)c, (__m128bh)v, "
                     "(__m128bh)w);\\n"
                     "#endif\\n")),
    INTRIN(
        "cpu.dotbf_8",
        "a pair of bfloat16 times eight pairs, added to float32: vdpbf16ps of AVX-512 BF16 with VL",
        DOT2_BF16("8", "32", X8,
                  "#if defined(__AVX512BF16__) && defined(__AVX512VL__)\\n"
                  "    return (tk_dotbf_c8)_mm256_dpbf16_ps((__m256)c, (__m256bh)v, "
                  "(__m256bh)w);\\n"
                  "#endif\\n")),
};

const tnk_tensor_intrin *const cpu_tensor_intrins[CPU_N_TENSOR_INTRINS] = {&dots[0],
                                                                           &dots[1],
                                                                           &dots[2],
                                                                           &dots[3],
                                                                           &dots[4],
                                                                           &dots[5],
                                                                           &dots[6],
                                                                           &dots[7],
                                                                           &dots[8],
                                                                           &cpu_tile_intrins[0],
                                                                           &cpu_tile_intrins[1],
                                                                           &cpu_tile_intrins[2],
                                                                           &cpu_tile_intrins[3],
                                                                           &cpu_tile_intrins[4],
                                                                           &cpu_tile_intrins[5]};
