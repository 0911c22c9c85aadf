/* SPDX-License-Identifier: Apache-2.0 */
/* Extents that only run time knows.
 *
 * Integers that a tensor holds are read where they decide a shape: a program writes max(v, 0) and
 * max(-v, 0) of each into a vector, the vector is read back, and a match_cast names its entries. The
 * element then is the difference of the two names, so that everything that assumes a symbolic
 * variable to be 0 or more stays right. Arithmetic goes on with these terms as with dimensions.
 *
 * A term becomes an extent by onnx_bind: sums, products and quotients of dimensions stay what they
 * are, others (choices, floats, what may be negative) get a name that a match_cast gives. On the way
 * the runtime checks what the operator wants of them and reports the node and the numbers.
 */
#ifndef ONNX_DYNAMIC_H
#define ONNX_DYNAMIC_H

#include "import.h"
#include "terms.h"

/* The elements of v: known, or read at run time by what is emitted here. False (nothing recorded):
 * not integers, too many, or of a number that is not known. */
bool
onnx_value_read(onnx_node *n, onnx_value *v);
/* The same for elements of the calling node's input i. */
bool
onnx_read(onnx_node *n, uint32_t i);
/* Whether all elements of input i are known numbers. */
bool
onnx_are_numbers(onnx_node *n, uint32_t i);

/* Whether the term is a number, or holds nothing but sums, products, quotients, minima and maxima of
 * dimensions: such a term is an extent as it is. */
bool
onnx_is_plain(onnx_node *n, const tn_expr *e);
/* What must hold at run time: `ok`, a condition (NULL: nothing). In the text, "{1}" stands for the
 * first of the terms `shown`, "{2}" for the second. */
typedef struct onnx_demand {
    const tn_expr *ok;
    const tn_expr *const *shown;
    uint32_t n_shown;
    const char *text; /* without the node */
} onnx_demand;
/* Replaces each of the `count` terms that is not plain, or that may be negative, by a name that is 0 or more at run time; a
 * negative one is an error there, as is a demand that does not hold. With a demand one term at least
 * gets a name, by which everything that uses it follows the check. False after an error. */
TNB_MUST_CHECK bool
onnx_bind(onnx_node *n, const tn_expr **e, uint32_t count, const onnx_demand *d);
/* The terms of v as what its dtype holds. Sums, differences, products of terms of 32 bits are right modulo 2^32; an operator
 * for which the number itself counts (a quotient, an order, a wider dtype, an extent) calls this: a term that may not fit is
 * checked at run time, once in a function. False after an error. */
TNB_MUST_CHECK bool
onnx_demand_fit(onnx_node *n, onnx_value *v);
/* ONNX_ADD, ONNX_SUB or ONNX_MUL: what the calling node makes of a and b, one of them a number, is checked at run time to fit int64. False:
 * neither is one, or after an error. */
bool
onnx_demand_near(onnx_node *n, onnx_arith op, const tn_expr *a, const tn_expr *b);
/* A term that may be negative, for use in programs: as it is if it is simple, else by names. */
const tn_expr *
onnx_bind_signed(onnx_node *n, const tn_expr *e);

/* int64 arithmetic on terms that folds what is known. */
const tn_expr *
onnx_t_where(onnx_node *n, const tn_expr *cond, const tn_expr *a, const tn_expr *b);
/* An integer term as a condition. */
const tn_expr *
onnx_truth(onnx_node *n, const tn_expr *e);
/* An integer term (0 or 1) by the name of an operator: "Equal", "Less", "And" ... */
const tn_expr *
onnx_t(onnx_node *n, onnx_arith op, const tn_expr *a, const tn_expr *b);

/* How wide a step is: between 1 and 2^40, so that nothing overflows, whatever its sign. To be bound,
 * with the demand that it is not 0. */
const tn_expr *
onnx_step_width(tn_ctx *ctx, const tn_expr *step);
/* max(ceil(span / width), 0) */
const tn_expr *
onnx_steps(tn_ctx *ctx, const tn_expr *span, const tn_expr *width);

/* ---- operators (dynamic.c, dynamic_ops.c) ---- */
/* x[begin + i * step] along each axis with `length` entries; all terms bound by the caller. NULL
 * entries of length: the whole axis. */
const tn_expr *
onnx_slice_at(onnx_node *n, const tn_expr *x, const tn_expr *const *begin,
              const tn_expr *const *length, const tn_expr *const *step);
/* x[begin:end:step] along one axis; the bounds are within it. */
const tn_expr *
onnx_slice_inside(onnx_node *n, const tn_expr *x, int64_t axis, const tn_expr *begin,
                  const tn_expr *end, int64_t step);
/* x with amounts before and after each axis (terms, may be negative). mode: ONNX's. value: NULL or a
 * tensor without axes. */
const tn_expr *
onnx_pad_at(onnx_node *n, const tn_expr *x, const tn_expr *const *before,
            const tn_expr *const *after, const char *mode, const tn_expr *value);
/* x with its extents 1 or equal to `dims`' repeated to these (ranks are equal). */
const tn_expr *
onnx_expand_at(onnx_node *n, const tn_expr *x, const tn_expr *const *dims);

#endif
