/* SPDX-License-Identifier: Apache-2.0 */
/* Weights in another layout than that of their checkpoint. */
#include "transform_kinds.h"

#include <stdlib.h>
#include <string.h>

tnb_status
transform_bad(tnb_err *err, const char *what)
{
    return tnb_fail(err, TNB_FORMAT, "metadata: params: a transform %s", what);
}

bool
transform_count(const json_t *v, uint64_t *out)
{
    if (!json_is_integer(v) || json_integer_value(v) <= 0)
        return false;
    *out = (uint64_t)json_integer_value(v);
    return true;
}

/* ---- interleave_rows ---- */

/* Granules of `size` bytes from rows `stride` apart, one row after the other. */
static inline char *
gather(const char *from, uint64_t stride, uint64_t rows, uint64_t size, char *to)
{
    for (uint64_t r = 0; r < rows; r++, to += size)
        memcpy(to, from + r * stride, size);
    return to;
}

/* The same field of a block of each row of a panel. */
static char *
interleave_field(const transform_field *f, const char *from, uint64_t stride, uint64_t rows,
                 char *to)
{
    for (uint64_t g = 0; g < f->bytes; g += f->granule) {
        switch (f->granule) { /* copies of constant size are single instructions */
        case 1:
            to = gather(from + g, stride, rows, 1, to);
            break;
        case 2:
            to = gather(from + g, stride, rows, 2, to);
            break;
        case 4:
            to = gather(from + g, stride, rows, 4, to);
            break;
        case 8:
            to = gather(from + g, stride, rows, 8, to);
            break;
        default:
            to = gather(from + g, stride, rows, f->granule, to);
        }
    }
    return to;
}

/* A field of a block of the last panel, where rows are missing: their bytes are 0. */
static char *
fill_field(const transform_field *f, const char *from, uint64_t stride, uint64_t rows,
           uint64_t missing, char *to)
{
    for (uint64_t g = 0; g < f->bytes; g += f->granule) {
        to = gather(from + g, stride, rows, f->granule, to);
        memset(to, 0, missing * f->granule);
        to += missing * f->granule;
    }
    return to;
}

enum { PANEL_BYTES = 4096 /* of a block of each row of a panel that is quantized first */ };

static void
interleave(transform *t, const char *source, uint64_t first, uint64_t n, char *out)
{
    char blocks[PANEL_BYTES];
    for (uint64_t row = first; row < first + n; row += t->panel) {
        const uint64_t left = t->source_rows - row, rows = left < t->panel ? left : t->panel;
        for (uint64_t k = 0; k < t->blocks; k++) {
            const char *from = source + row * t->source_row + k * t->block;
            uint64_t stride = t->source_row;
            if (t->bits) {
                for (uint64_t r = 0; r < rows; r++)
                    transform_quantize_block(t, source, row + r, k, blocks + r * t->block);
                from = blocks;
                stride = t->block;
            }
            for (uint64_t i = 0; i < t->n_fields; i++) {
                const transform_field *f = &t->fields[i];
                out = rows == t->panel
                          ? interleave_field(f, from + f->start, stride, rows, out)
                          : fill_field(f, from + f->start, stride, rows, t->panel - rows, out);
            }
        }
    }
}

/* The result is one part of the blocks, [start, bytes], with an extent for the panels. */
static tnb_status
read_part(transform *t, const json_t *part, tnb_err *err)
{
    transform_field *g = &t->fields[0];
    const json_t *start = json_array_get(part, 0);
    if (!json_is_integer(start) || json_integer_value(start) < 0 ||
        !transform_count(json_array_get(part, 1), &g->bytes) || g->bytes > t->block ||
        (uint64_t)json_integer_value(start) > t->block - g->bytes)
        return transform_bad(err, "of a part that is none");
    g->start = (uint64_t)json_integer_value(start);
    g->granule = g->bytes;
    t->n_fields = 1;
    if (t->row_bytes % t->panel || t->row_bytes / t->panel % g->bytes ||
        t->rows > UINT64_MAX / t->panel)
        return transform_bad(err, "whose panels or blocks do not divide the weight");
    t->rows *= t->panel;
    t->source_rows = t->rows;
    t->row_bytes /= t->panel;
    t->blocks = t->row_bytes / g->bytes;
    if (t->blocks > UINT64_MAX / t->block)
        return transform_bad(err, "of a source without end");
    t->source_row = t->blocks * t->block;
    return TNB_OK;
}

/* {"kind": "interleave_rows", "rows": R, "block": B, "fields": [[bytes, granule], ...], "source_rows": N, "of": QUANTIZE}, or
 * "part": [start, bytes] instead of fields and "of" */
static tnb_status
read_interleave(transform *t, const json_t *o, tnb_err *err)
{
    const json_t *fields = json_object_get(o, "fields"), *of = json_object_get(o, "of"),
                 *part = json_object_get(o, "part");
    uint64_t at = 0;
    t->make = interleave;
    t->source_row = t->row_bytes;
    t->n_fields = json_array_size(fields);
    if (!transform_count(json_object_get(o, "rows"), &t->panel) ||
        !transform_count(json_object_get(o, "block"), &t->block) || (!t->n_fields && !part) ||
        t->n_fields > TRANSFORM_FIELDS || (part && (t->n_fields || of)))
        return transform_bad(err, "of rows without rows, block and fields");
    t->unit = t->panel;
    if (part)
        TNB_TRY(read_part(t, part, err));
    else
        t->blocks = t->row_bytes / t->block;
    if (t->rows % t->panel || (!part && t->row_bytes % t->block))
        return transform_bad(err, "whose panels or blocks do not divide the weight");
    if (json_object_get(o, "source_rows") &&
        (!transform_count(json_object_get(o, "source_rows"), &t->source_rows) ||
         t->source_rows > t->rows || t->rows - t->source_rows >= t->panel))
        return transform_bad(err, "whose source's rows are not those of the panels");
    if (part)
        return TNB_OK;
    for (uint64_t i = 0; i < t->n_fields; i++) {
        const json_t *f = json_array_get(fields, i);
        transform_field *g = &t->fields[i];
        g->start = at;
        if (!transform_count(json_array_get(f, 0), &g->bytes) ||
            !transform_count(json_array_get(f, 1), &g->granule) || g->bytes % g->granule ||
            g->bytes > t->block - at)
            return transform_bad(err, "with a field that is none");
        at += g->bytes;
    }
    if (at != t->block)
        return transform_bad(err, "whose fields are not the block");
    if (!of)
        return TNB_OK;
    if (t->panel > PANEL_BYTES / t->block)
        return transform_bad(err, "that quantizes panels of too many rows");
    return transform_read_blocks(t, of, err);
}

/* ---- all kinds ---- */

static const struct {
    const char *name;
    tnb_status (*read)(transform *t, const json_t *o, tnb_err *err);
} kinds[] = {{"interleave_rows", read_interleave},
             {"quantize", transform_read_quantize},
             {"convert", transform_read_convert}};

tnb_status
transform_read(const json_t *o, const transform_result *result, tnb_arena *arena, transform **out,
               uint64_t *source_bytes, tnb_err *err)
{
    const char *kind = json_string_value(json_object_get(o, "kind"));
    transform *t = TNB_NEW(arena, transform);
    if (tnb_arena_failed(arena))
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for the list of weights");
    t->rows = result->ndim > 1 ? (uint64_t)result->shape[0] : 1;
    t->source_rows = t->rows;
    t->unit = 1;
    t->dtype = result->dtype;
    t->row_bytes = t->rows ? result->bytes / t->rows : 0;
    if (!t->row_bytes)
        return transform_bad(err, "of a weight without elements");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!kind || strcmp(kinds[i].name, kind) != 0)
            continue;
        TNB_TRY(kinds[i].read(t, o, err));
        if (t->source_row > UINT64_MAX / t->rows)
            return transform_bad(err, "of a source without end");
        *source_bytes = t->source_rows * t->source_row;
        *out = t;
        return TNB_OK;
    }
    (void)tnb_fail(err, TNB_UNSUPPORTED, "weights are to be transformed by '%.32s'",
                   kind ? kind : "");
    tnb_hint(err, "this runtime does not know that: a newer Tenon made the artifact");
    return TNB_UNSUPPORTED;
}

uint64_t
transform_rows(const transform *t)
{
    return t->rows;
}

uint64_t
transform_unit(const transform *t)
{
    return t->unit;
}

uint64_t
transform_row_bytes(const transform *t)
{
    return t->row_bytes;
}

void
transform_source_range(const transform *t, uint64_t first, uint64_t n, uint64_t *offset,
                       uint64_t *bytes)
{
    *offset = first * t->source_row;
    *bytes = (first + n > t->source_rows ? t->source_rows - first : n) * t->source_row;
}

void
transform_make(transform *t, const void *source, uint64_t first, uint64_t n, void *out)
{
    t->make(t, source, first, n, out);
}
