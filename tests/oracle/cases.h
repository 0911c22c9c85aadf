/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of operators as the oracle (oracle.py) writes them: functions, their inputs, and results
 * that were not computed by Tenon.
 *
 * A file NAME.py holds the functions; NAME.cases lists them, one record after another:
 *
 *     case FUNCTION OPERATOR DRAW RTOL ATOL
 *     in|out DTYPE NDIM EXTENT... OFFSET
 *
 * with the elements at OFFSET of NAME.bin, dense and row-major.
 */
#ifndef TESTS_ORACLE_CASES_H
#define TESTS_ORACLE_CASES_H

#include "tenon/core/build.h"

enum { CASES_MAX_TENSORS = 16, CASES_MAX_DIMS = 12 };

typedef struct oracle_tensor {
    tnb_dtype dtype;
    int32_t ndim;
    int64_t shape[CASES_MAX_DIMS];
    uint64_t n_elems, n_bytes;
    const void *bytes; /* into the file's data */
} oracle_tensor;

typedef struct oracle_case {
    char function[96], op[64];
    int draw;
    double rtol, atol;
    oracle_tensor in[CASES_MAX_TENSORS], out[CASES_MAX_TENSORS];
    uint32_t n_in, n_out;
} oracle_case;

typedef struct oracle_file {
    char *data; /* of NAME.bin */
    size_t n_data;
    oracle_case *cases;
    uint32_t n;
} oracle_file;

/* stem: the path without ".cases"; false after printing why. */
bool
cases_read(const char *stem, oracle_file *out);
void
cases_free(oracle_file *f);

/* What was computed of one result. bytes NULL: nothing to compare but the shape. */
typedef struct oracle_value {
    tnb_dtype dtype;
    int32_t ndim;
    const int64_t *shape;
    const void *bytes;
} oracle_value;
/* Compares with result i of the case; prints the first difference to `why` and gives false. */
bool
cases_compare(const oracle_case *c, uint32_t i, const oracle_value *got, tnb_buf *why);

#endif
