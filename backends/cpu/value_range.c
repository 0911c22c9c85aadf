/* SPDX-License-Identifier: Apache-2.0 */
/* Between which bounds the integers of a tensor lie, as far as a few steps back tell: constants, types of
 * eight bits, clip before a conversion, differences from a constant, and what only moves elements.
 *
 *     lv = R.clip(x, -9.0, 246.0)
 *     lv1 = R.astype(lv, dtype="int16")
 *     lv2 = R.layout_transform(lv1, ...)                  # -9 to 246
 */
#include "cpu.h"
#include "tenon/core/builder.h"

#include <math.h>

enum { MAX_STEPS = 12 };

/* Operators whose result has no other values than their first operand, or 0. */
static bool
moves_only(const tn_call *call)
{
    static const char *const names[] = {"relax.layout_transform", "relax.reshape",
                                        "relax.permute_dims",     "relax.nn.max_pool2d",
                                        "relax.expand_dims",      "relax.flatten",
                                        "relax.squeeze",          "relax.strided_slice",
                                        "relax.broadcast_to",     "relax.nn.max_pool1d"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (tn_is_call_to(&call->base, names[i]))
            return true;
    return false;
}

static bool
of_constant(tn_ctx *ctx, const tn_data *d, int64_t *lo, int64_t *hi)
{
    uint32_t bits = d->dtype.bits;
    if ((d->dtype.code != TNB_INT && d->dtype.code != TNB_UINT) || d->dtype.lanes != 1 ||
        (bits != 8 && bits != 16) || d->n_elems == 0)
        return false;
    const void *bytes = tn_data_get(ctx, d);
    for (uint64_t i = 0; bytes && i < d->n_elems; i++) {
        int64_t v;
        if (bits == 8)
            v = d->dtype.code == TNB_INT ? ((const int8_t *)bytes)[i] : ((const uint8_t *)bytes)[i];
        else
            v = d->dtype.code == TNB_INT ? ((const int16_t *)bytes)[i]
                                         : ((const uint16_t *)bytes)[i];
        *lo = i == 0 || v < *lo ? v : *lo;
        *hi = i == 0 || v > *hi ? v : *hi;
    }
    return bytes != NULL;
}

static bool
of_type(tnb_dtype d, int64_t *lo, int64_t *hi)
{
    if (d.bits != 8 || (d.code != TNB_INT && d.code != TNB_UINT))
        return false;
    *lo = d.code == TNB_INT ? -128 : 0;
    *hi = *lo + 255;
    return true;
}

static bool
is_number(const tn_expr *e, double *v)
{
    const tn_float_imm *f = tn_as_float_imm(e);
    int64_t i;
    if (f)
        *v = f->value;
    else if (tn_int_value(e, &i))
        *v = (double)i;
    else
        return false;
    return true;
}

static const tn_expr *
value_of(tn_builder *b, const tn_expr *e)
{
    for (int i = 0; e && tn_is_var(e) && i < MAX_STEPS; i++)
        e = tn_builder_find_value(b, e);
    return e;
}

/* Floats that were cut, so that a conversion leaves them as they are. */
static bool
of_clipped(tn_builder *b, const tn_expr *e, int64_t *lo, int64_t *hi)
{
    const tn_expr *v = value_of(b, e);
    const tn_call *clip = v ? tn_is_call_to(v, "relax.clip") : NULL;
    double low, high;
    if (!clip || !is_number(clip->args.at[1], &low) || !is_number(clip->args.at[2], &high) ||
        !(fabs(low) < 1e6) || !(fabs(high) < 1e6))
        return false;
    /* 0: what becomes of NaN */
    *lo = low < 0 ? (int64_t)low : 0;
    *hi = high > 0 ? (int64_t)high : 0;
    return true;
}

static bool
range_of(tn_builder *b, const tn_expr *e, int steps, int64_t *lo, int64_t *hi)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_expr *v = value_of(b, e);
    int64_t l, h;
    if (!v || !steps)
        return of_type(tn_type_dtype(e->type), lo, hi);
    if (tn_is(v, TN_KIND_CONSTANT))
        return of_constant(ctx, tn_as_constant(v)->data, lo, hi);
    const tn_call *call = tn_is(v, TN_KIND_CALL) ? tn_as_call(v) : NULL;
    if (!call || !tn_call_op_of(call))
        return of_type(tn_type_dtype(e->type), lo, hi);
    if (moves_only(call)) {
        if (!range_of(b, call->args.at[0], steps - 1, lo, hi))
            return false;
        *lo = *lo < 0 ? *lo : 0;
        *hi = *hi > 0 ? *hi : 0;
        return true;
    }
    if (tn_is_call_to(v, "relax.astype")) {
        const tnb_dtype from = tn_type_dtype(call->args.at[0]->type), to = tn_type_dtype(e->type);
        bool known = tnb_dtype_is_float(from) ? of_clipped(b, call->args.at[0], lo, hi)
                                              : range_of(b, call->args.at[0], steps - 1, lo, hi);
        return known && to.code == TNB_INT && to.bits >= 16 && *lo >= -32768 && *hi <= 32767;
    }
    if (tn_is_call_to(v, "relax.subtract")) {
        bool known = range_of(b, call->args.at[0], steps - 1, lo, hi) &&
                     range_of(b, call->args.at[1], steps - 1, &l, &h);
        if (!known)
            return false;
        *lo -= h;
        *hi -= l;
        return *lo >= -32768 && *hi <= 32767;
    }
    return of_type(tn_type_dtype(e->type), lo, hi);
}

bool
cpu_value_range(tn_builder *b, const tn_expr *e, int64_t *lo, int64_t *hi)
{
    return range_of(b, e, MAX_STEPS, lo, hi);
}
