/* SPDX-License-Identifier: Apache-2.0 */
/* For the kinds of transforms: what each fills in when it is read. */
#ifndef TENON_RUNTIME_TRANSFORM_KINDS_H
#define TENON_RUNTIME_TRANSFORM_KINDS_H

#include "transform.h"

enum { TRANSFORM_FIELDS = 16 };

/* A part of a block: `bytes` of it from `start` on, in granules. */
typedef struct transform_field {
    uint64_t start, bytes, granule;
} transform_field;

struct transform {
    uint64_t rows, unit, row_bytes; /* of the result */
    tnb_dtype dtype;                /* of the result */
    uint64_t source_row;            /* bytes; to be filled in */
    uint64_t source_rows;           /* the last panel may lack some */
    void (*make)(struct transform *t, const char *source, uint64_t first, uint64_t n, char *out);
    /* interleave_rows */
    uint64_t panel; /* rows */
    uint64_t block, n_fields;
    uint64_t blocks; /* of a row */
    transform_field fields[TRANSFORM_FIELDS];
    /* quantize, convert */
    tnb_dtype from;
    uint64_t columns; /* of the source */
    int bits;         /* of a number; 0: nothing is quantized */
    bool turned;      /* the source is [columns, rows] */
    bool half;        /* scales are float16 */
};

/* Records the error "a transform WHAT". */
tnb_status
transform_bad(tnb_err *err, const char *what);
/* A number above 0. */
bool
transform_count(const json_t *v, uint64_t *out);

tnb_status
transform_read_quantize(transform *t, const json_t *o, tnb_err *err);
/* The same for rows that are interleaved as blocks of GGUF's Q4_0 or Q8_0. */
tnb_status
transform_read_blocks(transform *t, const json_t *o, tnb_err *err);
/* Block k of a row of the source. */
void
transform_quantize_block(const transform *t, const char *source, uint64_t row, uint64_t k,
                         char *out);
tnb_status
transform_read_convert(transform *t, const json_t *o, tnb_err *err);

#endif
