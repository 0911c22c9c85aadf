/* SPDX-License-Identifier: Apache-2.0 */
/* Random cases of operators that select, group and suppress, with results from formulas written
 * here. */
#ifndef TESTS_OPS_SELECTION_H
#define TESTS_OPS_SELECTION_H

#include "tops.h"

enum { SELECTION_MAX = 8, SELECTION_DRAWS = 24 };

/* A tensor as numbers. */
typedef struct array {
    tnb_dtype dtype;
    int ndim;
    int64_t dim[5]; /* ends with -1 */
    double *v;
} array;

typedef struct selection {
    const char *name; /* of the variant */
    const char *op;
    /* of each tensor argument: extents, a letter for a symbol, a digit for itself */
    const char *args[SELECTION_MAX + 1];
    const tnb_dtype dtypes[SELECTION_MAX];
    const char *flags; /* scalar arguments behind them, a digit each; NULL: none */
    int axis;          /* and one more; below 0: none */
    const tn_node *(*attrs)(tn_ctx *ctx);
    int variant;
    /* Fills inputs, and outputs by formula; how many outputs. `v` comes from malloc. */
    int (*draw)(const struct selection *s, uint64_t seed, array *in, array *out);
} selection;

extern const selection selections[];
extern const int n_selections;

void
selection_free(array *a, int n);
/* The call's arguments: `tensors` and what the flags say. The count. */
uint32_t
selection_args(tops *t, const selection *s, const tn_expr *const *tensors, const tn_expr **args);

/* ---- formulas (selection_reference.c) ---- */
array
array_new(tnb_dtype d, int ndim, const int64_t *dim);
double
array_at3(const array *a, int64_t i, int64_t j, int64_t k);
void
want_nonzero(const array *x, array *out);
/* out: values, positions, inverse, counts. axis below 0: of the flattened tensor. */
void
want_unique(const array *x, bool sorted, int axis, array *out);
/* Selected (batch, class, box). */
void
want_all_class_nms(const array *boxes, const array *scores, int64_t most, double overlap,
                   double least, array *rows);

typedef struct nms_options {
    double overlap, sigma, least;
    int64_t most, top;
    int id, score, coord;
    bool force, indices, to_bottom;
} nms_options;
/* out: boxes, places, counts. */
void
want_nms(const array *data, const array *valid, const array *index, const nms_options *o,
         array *out);

#endif
