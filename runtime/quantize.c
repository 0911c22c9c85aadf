/* SPDX-License-Identifier: Apache-2.0 */
/* Floats as numbers of a few bits with a scale for each group of 32, as MLC-LLM has them, and floats of another type.
 *
 *     scale = max |w| / most, in the type of the scales          most = 7 of 4 bits, 127 of 8
 *     q     = round(w / scale) + most, from 0 to 2 * most        w is then (q - most) * scale
 *
 * Numbers lie in words of 32 bits, the first one lowest. The last group of a row may be short; its words are whole, and what stands for
 * no weight is `most`. Numbers and scales of a weight are results of their own, each made from the source.
 */
#include "transform_kinds.h"

#include <math.h>
#include <string.h>

enum { GROUP = 32 };

static float
load(const transform *t, const char *source, uint64_t i)
{
    uint32_t word;
    uint16_t half;
    float f;
    if (t->from.bits == 32) {
        memcpy(&f, source + 4 * i, sizeof f);
        return f;
    }
    memcpy(&half, source + 2 * i, sizeof half);
    if (t->from.code == TNB_FLOAT)
        return tnb_half_to_float(half);
    word = (uint32_t)half << 16;
    memcpy(&f, &word, sizeof f);
    return f;
}

static char *
store(const transform *t, float f, char *out)
{
    if (t->dtype.bits == 32) {
        memcpy(out, &f, sizeof f);
        return out + sizeof f;
    }
    const uint16_t half = tnb_float_to_half(f);
    memcpy(out, &half, sizeof half);
    return out + sizeof half;
}

/* The weights of a group, and its scale. */
static float
load_group(const transform *t, const char *source, uint64_t row, uint64_t first, uint64_t n,
           float *w)
{
    float most = 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t k = first + i;
        w[i] = load(t, source, t->turned ? k * t->source_rows + row : row * t->columns + k);
        most = fmaxf(most, fabsf(w[i]));
    }
    const float scale = most / (float)((1 << (t->bits - 1)) - 1);
    return t->half ? tnb_half_to_float(tnb_float_to_half(fminf(scale, 65504))) : scale;
}

static void
make_scales(transform *t, const char *source, uint64_t first, uint64_t n, char *out)
{
    float w[GROUP];
    for (uint64_t row = first; row < first + n; row++)
        for (uint64_t k = 0; k < t->columns; k += GROUP) {
            const uint64_t count = t->columns - k < GROUP ? t->columns - k : GROUP;
            out = store(t, load_group(t, source, row, k, count, w), out);
        }
}

/* The group's numbers less what stands for zero. Of what is no number: as low as can be. */
static void
quantize_group(const transform *t, const float *w, uint64_t count, float scale, int *out)
{
    const float most = (float)((1 << (t->bits - 1)) - 1);
    for (uint64_t i = 0; i < GROUP; i++) {
        float q = i < count && scale > 0 ? rintf(w[i] / scale) + most : most;
        out[i] = (int)((q > 0 ? fminf(q, 2 * most) : 0) - most);
    }
}

static void
make_numbers(transform *t, const char *source, uint64_t first, uint64_t n, char *out)
{
    const uint64_t in_word = 32 / (uint64_t)t->bits;
    const int most = (1 << (t->bits - 1)) - 1;
    float w[GROUP];
    int q[GROUP];
    for (uint64_t row = first; row < first + n; row++)
        for (uint64_t k = 0; k < t->columns; k += GROUP) {
            const uint64_t count = t->columns - k < GROUP ? t->columns - k : GROUP;
            quantize_group(t, w, count, load_group(t, source, row, k, count, w), q);
            for (uint64_t i = 0; i < GROUP; i += in_word) {
                uint32_t word = 0;
                for (uint64_t j = 0; j < in_word; j++)
                    word |= (uint32_t)(q[i + j] + most) << (j * (uint64_t)t->bits);
                memcpy(out, &word, sizeof word);
                out += sizeof word;
            }
        }
}

/* GGUF's blocks hold the same numbers: of four bits with 8 for zero where MLC-LLM has 7, the second half of a group above the
 * first one; of eight bits with their signs. */
void
transform_quantize_block(const transform *t, const char *source, uint64_t row, uint64_t k,
                         char *out)
{
    float w[GROUP];
    int q[GROUP];
    const float scale = load_group(t, source, row, k * GROUP, GROUP, w);
    const uint16_t half = tnb_float_to_half(scale);
    quantize_group(t, w, GROUP, scale, q);
    memcpy(out, &half, sizeof half);
    out += sizeof half;
    if (t->bits == 8)
        for (int i = 0; i < GROUP; i++)
            out[i] = (char)q[i];
    else
        for (int i = 0; i < GROUP / 2; i++)
            out[i] = (char)((q[i] + 8) | (q[i + GROUP / 2] + 8) << 4);
}

static bool
read_float(const json_t *v, tnb_dtype *out)
{
    const char *text = json_string_value(v);
    return text && tnb_dtype_parse(text, strlen(text), out) && tnb_dtype_is_float(*out) &&
           (out->bits == 32 || out->bits == 16) && out->lanes <= 1;
}

/* What all parts of a quantized weight say: "bits", "columns", "from", "scales", "turned". *scales is their type. */
static tnb_status
read_quantized(transform *t, const json_t *o, tnb_dtype *scales, tnb_err *err)
{
    uint64_t bits;
    if (!transform_count(json_object_get(o, "bits"), &bits) || (bits != 4 && bits != 8) ||
        !transform_count(json_object_get(o, "columns"), &t->columns) ||
        t->columns > INT64_MAX / 64 || !read_float(json_object_get(o, "from"), &t->from) ||
        !read_float(json_object_get(o, "scales"), scales) || scales->code != TNB_FLOAT ||
        !json_is_string(json_object_get(o, "part")))
        return transform_bad(err, "that quantizes without part, bits, columns, from and scales");
    t->bits = (int)bits;
    t->half = scales->bits == 16;
    t->turned = json_is_true(json_object_get(o, "turned"));
    t->source_row = t->columns * t->from.bits / 8;
    if (t->turned) /* every row is of all of the source */
        t->unit = t->rows;
    return TNB_OK;
}

/* {"kind": "quantize", "part": "numbers" or "scales", "bits": 4 or 8, "columns": K, "from": DTYPE, "scales": DTYPE,
 * "turned": BOOL} */
tnb_status
transform_read_quantize(transform *t, const json_t *o, tnb_err *err)
{
    tnb_dtype scales;
    TNB_TRY(read_quantized(t, o, &scales, err));
    const char *part = json_string_value(json_object_get(o, "part"));
    const uint64_t groups = (t->columns + GROUP - 1) / GROUP;
    const bool numbers = strcmp(part, "numbers") == 0;
    t->make = numbers ? make_numbers : make_scales;
    const tnb_dtype wanted = numbers ? TNB_DTYPE(TNB_UINT, 32) : scales;
    if ((!numbers && strcmp(part, "scales") != 0) || !tnb_dtype_eq(t->dtype, wanted) ||
        t->row_bytes != groups * (numbers ? GROUP * (uint64_t)t->bits : wanted.bits) / 8)
        return transform_bad(err, "that quantizes to another shape or dtype than the weight's");
    return TNB_OK;
}

/* {"kind": "quantize", "part": "blocks", ...}: of whole groups, with scales of float16 */
tnb_status
transform_read_blocks(transform *t, const json_t *o, tnb_err *err)
{
    const char *kind = json_string_value(json_object_get(o, "kind"));
    tnb_dtype scales;
    if (!kind || strcmp(kind, "quantize") != 0)
        return transform_bad(err, "of rows that are made in an unknown way");
    TNB_TRY(read_quantized(t, o, &scales, err));
    if (strcmp(json_string_value(json_object_get(o, "part")), "blocks") != 0 || !t->half ||
        t->columns % GROUP || t->block != 2 + GROUP * (uint64_t)t->bits / 8 ||
        t->row_bytes != t->columns / GROUP * t->block || !tnb_dtype_eq(t->dtype, TNB_U8))
        return transform_bad(err, "that quantizes to other blocks than the weight's");
    return TNB_OK;
}

/* ---- convert ---- */

static void
make_converted(transform *t, const char *source, uint64_t first, uint64_t n, char *out)
{
    for (uint64_t i = first * t->columns; i < (first + n) * t->columns; i++)
        out = store(t, load(t, source, i), out);
}

/* {"kind": "convert", "from": DTYPE} */
tnb_status
transform_read_convert(transform *t, const json_t *o, tnb_err *err)
{
    if (!read_float(json_object_get(o, "from"), &t->from) || t->dtype.code != TNB_FLOAT ||
        (t->dtype.bits != 32 && t->dtype.bits != 16) || t->dtype.lanes > 1)
        return transform_bad(err, "from or to what is neither float32, float16 nor bfloat16");
    t->make = make_converted;
    t->columns = t->row_bytes / (t->dtype.bits / 8);
    t->source_row = t->columns * (t->from.bits / 8);
    return TNB_OK;
}
