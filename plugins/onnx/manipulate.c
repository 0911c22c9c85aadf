/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that rearrange, cut, join and repeat. */
#include <inttypes.h>
#include "dynamic.h"
#include "fold.h"
#include "tenon/core/walk.h"

static bool
import_identity(onnx_node *n)
{
    if (!onnx_has(n, 0))
        return onnx_fail(n, TNB_INVALID, "input 0 is missing");
    onnx_ret_value(n, 0, n->in[0]);
    return true;
}

static bool
has_remainder(const tn_expr *e)
{
    const tn_binary *b = tn_as_binary(e);
    return b && (tn_is(e, TN_KIND_FLOOR_MOD) || has_remainder(b->a) || has_remainder(b->b));
}

/* Whether an entry of a target shape means something else for some numbers: it is read, or chosen,
 * or a remainder, which is 0 at times. */
static bool
is_open(onnx_node *n, const tn_expr *e)
{
    return !onnx_is_plain(n, e) || has_remainder(e);
}

static bool
any_open(onnx_node *n, const tn_expr *const *e, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (is_open(n, onnx_simplify(n, e[i])))
            return true;
    return false;
}

/* Whether b divides the product a as one of its factors: then a is 0 where b is. */
static bool
has_factor(const tn_expr *a, const tn_expr *b)
{
    const tn_binary *p = tn_is(a, TN_KIND_MUL) ? tn_as_binary(a) : NULL;
    return a == b || (p && (has_factor(p->a, b) || has_factor(p->b, b)));
}

/* Whether a term has no variables but those of the extents. */
static bool
is_of_extents(onnx_node *n, tn_list extents, const tn_expr *e)
{
    tn_list vars = tn_free_vars(n->ctx, e, false);
    for (uint32_t i = 0; i < vars.n; i++) {
        uint32_t k = 0;
        while (k < extents.n && !tn_uses(extents.at[k], vars.at[i]))
            k++;
        if (k == extents.n)
            return false;
    }
    return true;
}

/* Whether an entry that is a plain term may be 0 while the input has elements: an extent of another tensor, a
 * count, or a product with one of these. The 0 means the input's extent, so that the entry is not the result's.
 * A quotient of the input's own extents, as of images that are halved, is kept for what is known of it; where it is
 * 0 the two have to agree (zeros_agree). */
static bool
may_copy(onnx_node *n, tn_list in, const tn_expr *e)
{
    int64_t v;
    if (tn_is(e, TN_KIND_FLOOR_DIV) && is_of_extents(n, in, e))
        return false;
    if (tn_int_value(e, &v) || tn_int_value(onnx_t(n, ONNX_EQUAL, e, tn_i64(n->ctx, 0)), &v))
        return false;
    for (uint32_t i = 0; i < in.n; i++)
        if (has_factor(in.at[i], e) || tn_prove_equal(n->ctx, in.at[i], e))
            return false;
    const tn_binary *p = tn_is(e, TN_KIND_MUL) ? tn_as_binary(e) : NULL;
    return !p || may_copy(n, in, p->a) || may_copy(n, in, p->b);
}

static bool
any_copies(onnx_node *n, tn_list in, const tn_expr *const *e, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (may_copy(n, in, onnx_simplify(n, e[i])))
            return true;
    return false;
}

/* Entries that come at run time may be -1 and 0 as well. */
static bool
reshape_at_run_time(onnx_node *n, const tn_expr *x, tn_list in, const tn_expr *const *target,
                    uint32_t count, bool zero_copies)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *out[ONNX_MAX_DIMS], *shown[2 * ONNX_MAX_DIMS],
        *zero = tn_i64(ctx, 0), *one = tn_i64(ctx, 1), *hole[ONNX_MAX_DIMS], *holes = zero,
        *known = one, *all = tn_product(ctx, in), *ok = NULL;
    const char *text = "{1} elements cannot take the shape [";
    shown[0] = all;
    if (count > ONNX_MAX_DIMS)
        return onnx_fail(n, TNB_BOUNDS, "the target shape has %u dimensions", count);
    for (uint32_t i = 0; i < count; i++) {
        const tn_expr *e = onnx_simplify(n, target[i]), *is_zero = onnx_t(n, ONNX_EQUAL, e, zero);
        shown[1 + i] = e;
        text = tn_strf(ctx, "%s%s{%u}", text, i ? ", " : "", i + 2);
        hole[i] = onnx_t(n, ONNX_EQUAL, e, tn_i64(ctx, -1));
        holes = tn_add(ctx, holes, hole[i]);
        bool open = is_open(n, e) || may_copy(n, in, e);
        if (zero_copies && i < in.n && (open || tn_is_int_const(e, 0)))
            e = onnx_t_where(n, is_zero, in.at[i], e);
        else if (zero_copies && open)
            ok = tn_and(ctx, ok, tn_ne(ctx, e, zero));
        out[i] = e;
        known = tn_mul(ctx, known, onnx_t_where(n, hole[i], one, e));
    }
    const tn_expr *rest = tn_floordiv(ctx, all, tn_max(ctx, known, one)), *total = one;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = onnx_t_where(n, hole[i], rest, out[i]);
        total = tn_mul(ctx, total, out[i]);
    }
    ok = tn_and(ctx, ok, tn_le(ctx, holes, one));
    if (!tn_is_int_const(holes, 0)) /* beside an extent of 0 the rest could be anything */
        ok = tn_and(ctx, ok, tn_or(ctx, tn_eq(ctx, holes, zero), tn_gt(ctx, known, zero)));
    ok = tn_and(ctx, ok, tn_eq(ctx, total, all));
    onnx_demand d = {ok, shown, count + 1, tn_strf(ctx, "%s]", text)};
    return onnx_bind(n, out, count, &d) && onnx_ret(n, onnx_reshape(n, x, out, count));
}

/* Entries that are plain terms are kept as they are: what is known of them is of use later. Where one
 * is 0 it means the input's extent, so that the two must agree; run time checks it. */
static bool
zeros_agree(onnx_node *n, tn_list in, const tn_expr *const *target, uint32_t count)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *ok = NULL, *shown[2 * ONNX_MAX_DIMS], *zero = tn_i64(ctx, 0), *mark = zero;
    uint32_t k = 0;
    const char *text = "in the target shape";
    for (uint32_t i = 0; i < count && i < ONNX_MAX_DIMS && k + 2 <= 24; i++) {
        const tn_expr *e = onnx_simplify(n, target[i]), *own = i < in.n ? in.at[i] : NULL;
        int64_t v;
        if (tn_int_value(e, &v) || tn_int_value(onnx_t(n, ONNX_EQUAL, e, zero), &v) ||
            (own && (has_factor(own, e) || tn_prove_equal(ctx, own, e))))
            continue;
        const tn_expr *agree = tn_ne(ctx, e, zero);
        if (own)
            agree = tn_or(ctx, agree, tn_eq(ctx, own, zero));
        ok = tn_and(ctx, ok, agree);
        text = tn_strf(ctx, "%s%s entry %u is {%u}", text, k ? "," : "", i, k + 1);
        shown[k++] = e;
        if (own) {
            text = tn_strf(ctx, "%s for an axis of {%u}", text, k + 1);
            shown[k++] = own;
        }
    }
    text =
        tn_strf(ctx, "%s: a 0 there would mean the input's extent (attribute 'allowzero')", text);
    onnx_demand d = {ok, shown, k, text};
    return !ok || onnx_bind(n, &mark, 1, &d);
}

static bool
import_reshape(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *out[ONNX_MAX_DIMS], *attr_dims[ONNX_MAX_DIMS];
    const tn_expr *const *target = attr_dims;
    int64_t v[ONNX_MAX_DIMS];
    uint32_t count = 0;
    tn_list in;
    bool keep_zero = onnx_attr_int(n, "allowzero", 0) != 0;
    onnx_attr(n, "consumed_inputs");
    if (n->version < 5) {
        int have = onnx_attr_ints(n, "shape", v, ONNX_MAX_DIMS);
        for (int i = 0; i < have; i++)
            attr_dims[i] = tn_i64(n->ctx, v[i]);
        count = have < 0 ? 0 : (uint32_t)have;
    } else if (!onnx_elems(n, 1, "the target shape", &target, &count)) {
        return false;
    }
    if (!onnx_dims(n, x, &in))
        return false;
    if (any_open(n, target, count) || (!keep_zero && any_copies(n, in, target, count)))
        return reshape_at_run_time(n, x, in, target, count, !keep_zero);
    if (!onnx_reshape_target(n, in, target, count, !keep_zero, out) ||
        (!keep_zero && !zeros_agree(n, in, target, count)))
        return false;
    return onnx_ret(n, onnx_reshape(n, x, out, count));
}

static bool
import_transpose(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t perm[ONNX_MAX_DIMS], rank = onnx_rank(n, x);
    int count = onnx_attr_ints(n, "perm", perm, ONNX_MAX_DIMS);
    if (rank < 0 || n->failed)
        return false;
    if (count < 0)
        for (int64_t i = 0; i < rank; i++)
            perm[i] = rank - 1 - i;
    else if (count != rank)
        return onnx_fail(n, TNB_SHAPE,
                         "attribute 'perm' has %d entries, but the input has rank %" PRId64, count,
                         rank);
    return onnx_axes(n, rank, perm, (int)rank) &&
           onnx_ret(n, onnx_permute(n, x, perm, (uint32_t)rank));
}

static bool
import_concat(onnx_node *n)
{
    int64_t axis = onnx_attr_int(n, "axis", n->version < 4 ? 1 : 0), rank = 0, zero = 0;
    const tn_expr **x = TNB_NEW_N(n->imp->arena, const tn_expr *, n->n_in);
    for (uint32_t i = 0; i < n->n_in; i++) {
        x[i] = onnx_in(n, i);
        int64_t r = onnx_rank(n, x[i]);
        if (r < 0)
            return false;
        rank = r > rank ? r : rank;
    }
    rank = rank ? rank : 1;
    for (uint32_t i = 0; i < n->n_in;
         i++) /* some exporters join scalars: each counts as one element */
        if (rank == 1 && onnx_rank(n, x[i]) == 0)
            x[i] = onnx_unsqueeze(n, x[i], &zero, 1);
    return onnx_axis(n, rank, &axis) && onnx_ret(n, onnx_concat(n, x, n->n_in, axis));
}

/* The parts of an axis, whose sizes are terms. */
static bool
split_at_run_time(onnx_node *n, const tn_expr *x, int64_t axis)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *const *given, *size[64], *at = tn_i64(ctx, 0), *sum = at, *ok = NULL, *shown[65];
    tn_list in;
    uint32_t count = 0;
    const char *text = "the axis of {1} entries cannot be split into";
    if (!onnx_dims(n, x, &in))
        return false;
    const tn_expr *extent = shown[0] = in.at[axis];
    if (onnx_has(n, 1)) {
        if (!onnx_elems(n, 1, "the sizes of the parts", &given, &count))
            return false;
        if (count < n->n_out || count > 24)
            return onnx_fail(n, TNB_SHAPE, "the node has %u outputs, but %u parts", n->n_out,
                             count);
        memcpy(size, given, count * sizeof *size);
    } else { /* equal parts; from opset 18 the last may be smaller */
        int64_t parts = onnx_attr_int(n, "num_outputs", (int64_t)n->n_out);
        if (parts < n->n_out || parts > 24)
            return onnx_fail(n, TNB_UNSUPPORTED, "an axis cannot be split into %lld parts",
                             (long long)parts);
        count = (uint32_t)parts;
        const tn_expr *k = tn_i64(ctx, parts), *each = n->version < 18 ? tn_floordiv(ctx, extent, k)
                                                                       : tn_ceildiv(ctx, extent, k);
        for (uint32_t i = 0; i < count; i++)
            size[i] = each;
        if (n->version >= 18)
            size[count - 1] = tn_sub(ctx, extent, tn_mul(ctx, each, tn_i64(ctx, parts - 1)));
        if (parts == 1)
            size[0] = extent;
    }
    for (uint32_t i = 0; i < count; i++) {
        sum = tn_add(ctx, sum, size[i]);
        shown[1 + i] = size[i];
        text = tn_strf(ctx, "%s%s {%u}", text, i ? "," : "", i + 2);
    }
    ok = tn_prove_equal(ctx, sum, extent) ? NULL : tn_eq(ctx, sum, extent);
    onnx_demand d = {ok, shown, count + 1, text};
    if (!onnx_bind(n, size, count, &d))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const tn_expr *end = onnx_simplify(n, tn_add(ctx, at, size[i]));
        if (i < n->n_out && n->out[i] &&
            !onnx_ret_at(n, i, onnx_slice_inside(n, x, axis, at, end, 1)))
            return false;
        at = end;
    }
    return true;
}

/* Whether all sizes are numbers, or all parts equal ones of a known axis. */
static bool
split_is_known(onnx_node *n, int64_t extent)
{
    int64_t v;
    if (onnx_attr(n, "split"))
        return true;
    if (!onnx_has(n, 1))
        return extent >= 0;
    if (!onnx_known(n, 1))
        return false;
    for (uint32_t i = 0; i < n->in[1]->n_elems; i++)
        if (!tn_int_value(onnx_simplify(n, n->in[1]->elems[i]), &v))
            return false;
    return true;
}

/* The parts make up the whole axis: where its extent is not known, the program checks it. */
static bool
has_extent(onnx_node *n, const tn_expr **x, uint32_t axis, int64_t extent)
{
    tn_list dims;
    if (!tn_type_dims((*x)->type, &dims) || tn_is(dims.at[axis], TN_KIND_INT_IMM))
        return true;
    dims = tn_list_with(n->ctx, dims, axis, tn_i64(n->ctx, extent));
    *x = onnx_match_extents(n, *x, dims, "the data", "lv");
    n->failed |= tn_is_error(*x);
    return !n->failed;
}

static bool
import_split(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t axis = onnx_attr_int(n, "axis", 0), sizes[64], cuts[64], at = 0;
    uint32_t count;
    if (!onnx_axis(n, onnx_rank(n, x), &axis))
        return false;
    if (!split_is_known(n, onnx_dim(x, axis)))
        return split_at_run_time(n, x, axis);
    if (!onnx_split_sizes(n, onnx_dim(x, axis), sizes, &count))
        return false;
    for (uint32_t i = 0; i + 1 < count; i++)
        cuts[i] = at += sizes[i];
    if (!has_extent(n, &x, (uint32_t)axis, at + sizes[count - 1]))
        return false;
    if (count == 1)
        return onnx_ret(n, x);
    return onnx_ret(n, onnx_emit(n, "split",
                                 tn_dictv(n->ctx, "indices_or_sections",
                                          tn_int_array(n->ctx, cuts, count - 1), "axis",
                                          tn_i64(n->ctx, axis), NULL),
                                 x, NULL));
}

/* One axis of a slice whose bounds come at run time: the file's meaning, then the first entry and the
 * number of entries. */
typedef struct open_slice {
    const tn_expr *start, *end, *step, *width, *begin, *length;
} open_slice;

/* What each axis of the input gets from the entries, whose axes may come at run time too. */
static void
gather_axes(onnx_node *n, const onnx_terms *s, tn_list in, open_slice *axis, const tn_expr **ok)
{
    tn_ctx *ctx = n->ctx;
    for (uint32_t a = 0; a < in.n; a++) {
        open_slice *o = &axis[a];
        const tn_expr *named = tn_i64(ctx, 0);
        *o = (open_slice){0};
        for (uint32_t k = 0; k < s->count; k++) {
            const tn_expr *at = s->axes[k],
                          *here = onnx_t(n, ONNX_OR, onnx_t(n, ONNX_EQUAL, at, tn_i64(ctx, a)),
                                         onnx_t(n, ONNX_EQUAL, at, tn_i64(ctx, (int64_t)a - in.n)));
            if (tn_is_int_const(here, 0))
                continue;
            o->start = onnx_t_where(n, here, s->starts[k], o->start ? o->start : tn_i64(ctx, 0));
            o->end = onnx_t_where(n, here, s->ends[k], o->end ? o->end : tn_i64(ctx, INT64_MAX));
            o->step = onnx_t_where(n, here, s->steps[k], o->step ? o->step : tn_i64(ctx, 1));
            named = tn_add(ctx, named, here);
        }
        if (o->start)
            *ok = tn_and(ctx, *ok, tn_le(ctx, named, tn_i64(ctx, 1)));
    }
}

/* A bound, for steps forward or back; those that begin an axis lie within it. */
static const tn_expr *
clamped(onnx_node *n, const tn_expr *v, const tn_expr *extent, bool forward, bool start)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *low = tn_i64(ctx, forward || start ? 0 : -1), *zero = tn_i64(ctx, 0),
                  *high = forward ? extent : tn_sub(ctx, extent, tn_i64(ctx, 1)),
                  *from_end = tn_max(ctx, tn_add(ctx, v, extent), low);
    return onnx_t_where(n, onnx_t(n, ONNX_LESS, v, zero), tn_min(ctx, from_end, high),
                        tn_min(ctx, v, high));
}

/* The largest numbers stand for the end of the axis, backwards for its beginning. */
static const tn_expr *
end_backwards(onnx_node *n, const tn_expr *end)
{
    const tn_expr *largest =
        onnx_t(n, ONNX_OR, onnx_t(n, ONNX_EQUAL, end, tn_i64(n->ctx, INT64_MAX)),
               onnx_t(n, ONNX_EQUAL, end, tn_i64(n->ctx, INT32_MAX)));
    return onnx_t_where(n, largest, tn_i64(n->ctx, -INT64_MAX), end);
}

/* Where the axis begins and how many entries it gets, for either direction. */
static void
measure_axis(onnx_node *n, open_slice *o, const tn_expr *extent)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *zero = tn_i64(ctx, 0), *forward = onnx_t(n, ONNX_GREATER, o->step, zero), *b[2],
                  *count[2];
    for (int k = 0; k < 2; k++) {
        const tn_expr *e = clamped(n, k ? end_backwards(n, o->end) : o->end, extent, !k, false);
        b[k] = clamped(n, o->start, extent, !k, true);
        count[k] = onnx_steps(ctx, k ? tn_sub(ctx, b[k], e) : tn_sub(ctx, e, b[k]), o->width);
    }
    o->begin = tn_max(ctx, onnx_t_where(n, forward, b[0], b[1]), zero);
    o->length = onnx_t_where(n, forward, count[0], count[1]);
}

/* Steps that are not 0, axes that are there. */
static bool
bind_widths(onnx_node *n, const onnx_terms *s, tn_list in, open_slice *axis, const tn_expr *ok)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *shown[24], *width[ONNX_MAX_DIMS], *rank = tn_i64(ctx, in.n),
                                                     *zero = tn_i64(ctx, 0);
    uint32_t n_shown = 0, count = 0;
    const char *text = tn_strf(ctx, "an input of rank %u cannot be sliced along", in.n);
    for (uint32_t k = 0; k < s->count && n_shown + 2 <= 24; k++) {
        ok = tn_and(ctx, ok, tn_ne(ctx, s->steps[k], zero));
        ok = tn_and(ctx, ok, tn_lt(ctx, s->axes[k], rank));
        ok = tn_and(ctx, ok, tn_ge(ctx, s->axes[k], tn_i64(ctx, -(int64_t)in.n)));
        shown[n_shown++] = s->axes[k];
        shown[n_shown++] = s->steps[k];
        text =
            tn_strf(ctx, "%s%s axis {%u} with step {%u}", text, k ? "," : "", n_shown - 1, n_shown);
    }
    for (uint32_t a = 0; a < in.n; a++)
        if (axis[a].start)
            width[count++] = onnx_step_width(ctx, axis[a].step);
    onnx_demand d = {ok, shown, n_shown, text};
    if (!onnx_bind(n, width, count, &d))
        return false;
    for (uint32_t a = in.n; a-- > 0;)
        if (axis[a].start)
            axis[a].width = width[--count];
    return true;
}

static bool
slice_at_run_time(onnx_node *n, const tn_expr *x, const onnx_terms *s)
{
    open_slice axis[ONNX_MAX_DIMS];
    const tn_expr *ok = NULL, *bound[2 * ONNX_MAX_DIMS], *begin[ONNX_MAX_DIMS] = {NULL},
                  *length[ONNX_MAX_DIMS] = {NULL}, *step[ONNX_MAX_DIMS] = {NULL};
    tn_list in;
    uint32_t count = 0;
    if (!onnx_dims(n, x, &in))
        return false;
    gather_axes(n, s, in, axis, &ok);
    if (ok && tn_is_int_const(ok, 0))
        return onnx_fail(n, TNB_INVALID, "an axis is named twice");
    if (!bind_widths(n, s, in, axis, ok))
        return false;
    for (uint32_t a = 0; a < in.n; a++)
        if (axis[a].start) {
            axis[a].start = onnx_bind_signed(n, axis[a].start);
            axis[a].end = onnx_bind_signed(n, axis[a].end);
            axis[a].step = onnx_bind_signed(n, axis[a].step);
            measure_axis(n, &axis[a], in.at[a]);
            bound[count++] = axis[a].begin;
            bound[count++] = axis[a].length;
        }
    if (n->failed || !onnx_bind(n, bound, count, NULL))
        return false;
    for (uint32_t a = in.n; a-- > 0;)
        if (axis[a].start) {
            length[a] = bound[--count];
            begin[a] = bound[--count];
            step[a] = axis[a].step;
        }
    return onnx_ret(n, onnx_slice_at(n, x, begin, length, step));
}

/* Whether run time decides about a bound, an axis or a step. */
static bool
slice_is_open(onnx_node *n, const tn_expr *x, const onnx_terms *s)
{
    int64_t v, axis;
    for (uint32_t k = 0; k < s->count; k++) {
        /* backwards, what lies before the axis begins at its first entry */
        if (tn_int_value(s->steps[k], &v) && v < 0 && tn_int_value(s->axes[k], &axis) &&
            onnx_axis(n, onnx_rank(n, x), &axis) && onnx_dim(x, axis) < 0 &&
            !(tn_int_value(s->starts[k], &v) && v >= -1))
            return true;
        if (!onnx_is_plain(n, s->starts[k]) || !onnx_is_plain(n, s->ends[k]) ||
            !tn_int_value(s->axes[k], &v) || !tn_int_value(s->steps[k], &v))
            return true;
    }
    return false;
}

static bool
import_slice(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    onnx_terms t;
    onnx_slices s;
    int64_t v;
    int64_t rank = onnx_rank(n, x);
    if (rank < 0 || !onnx_read_slice_terms(n, rank, &t))
        return false;
    if (slice_is_open(n, x, &t))
        return slice_at_run_time(n, x, &t);
    if (!onnx_read_slices(n, rank, &s))
        return false;
    for (uint32_t i = 0; i < s.count; i++) {
        s.starts[i] = onnx_simplify(n, s.starts[i]);
        s.ends[i] = onnx_simplify(n, s.ends[i]);
        /* "to the end" is written as a very large number, also backwards */
        tn_list dims;
        if (s.steps[i] < 0 && tn_int_value(s.ends[i], &v) && (v == INT64_MAX || v == INT32_MAX))
            s.ends[i] = tn_i64(n->ctx, INT32_MIN);
        if (tn_int_value(s.ends[i], &v) && v >= 1000000000 && tn_type_dims(x->type, &dims))
            s.ends[i] = dims.at[s.axes[i]];
        else if (tn_int_value(s.ends[i], &v) && (v > INT32_MAX || v < INT32_MIN))
            s.ends[i] = tn_i64(n->ctx, v > 0 ? INT32_MAX : INT32_MIN);
        int64_t extent = onnx_dim(x, s.axes[i]);
        if (s.steps[i] < 0 && extent > 0 && tn_int_value(s.starts[i], &v) && v < -extent)
            s.starts[i] = tn_i64(n->ctx, 0);
        if (tn_int_value(s.starts[i], &v) && (v > INT32_MAX || v < INT32_MIN))
            s.starts[i] = tn_i64(n->ctx, v > 0 ? INT32_MAX : INT32_MIN);
    }
    return onnx_ret(n, onnx_slice(n, x, s.axes, s.starts, s.ends, s.steps, s.count));
}

/* Without axes those go that have one entry, and the rank has to be known: a dynamic axis must have
 * another number of entries at run time. */
static bool
squeeze_all(onnx_node *n, const tn_expr *x)
{
    const tn_expr *out[ONNX_MAX_DIMS];
    uint32_t rank = 0;
    tn_list dims;
    if (!onnx_dims(n, x, &dims))
        return false;
    for (uint32_t i = 0; i < dims.n; i++) {
        const tn_expr *d = dims.at[i];
        if (tn_is_int_const(d, 1))
            continue;
        if (!tn_is(d, TN_KIND_INT_IMM)) {
            const char *name = tn_is_var(d) ? tn_var_name(d) : "";
            const onnx_demand two = {
                .ok = tn_ne_of(n->ctx, d, tn_i64(n->ctx, 1)),
                .shown = &dims.at[i],
                .n_shown = 1,
                .text =
                    tn_strf(n->ctx,
                            "without a list of axes, dynamic axis %u would be removed, since it "
                            "has {1} entry; this has to be known when the model is compiled: "
                            "--dim %s=1",
                            i, tnb_strmap_get(&n->imp->dims, name) == d ? name : "NAME")};
            if (!onnx_bind(n, &d, 1, &two))
                return false;
        }
        out[rank++] = d;
    }
    return onnx_ret(n, rank == dims.n ? x : onnx_reshape(n, x, out, rank));
}

static bool
import_squeeze(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t axes[ONNX_MAX_DIMS], rank = onnx_rank(n, x);
    int count = onnx_axes_in(n, 1, axes, ONNX_MAX_DIMS);
    if (rank < 0 || n->failed)
        return false;
    if (count < 0)
        return squeeze_all(n, x);
    if (!onnx_axes(n, rank, axes, count))
        return false;
    for (int i = 0; i < count; i++)
        if (onnx_dim(x, axes[i]) > 1 || onnx_dim(x, axes[i]) == 0)
            return onnx_fail(n, TNB_SHAPE, "axis %" PRId64 " has %" PRId64 " entries, expected 1",
                             axes[i], onnx_dim(x, axes[i]));
    return onnx_ret(n, onnx_squeeze(n, x, axes, (uint32_t)count));
}

static bool
import_unsqueeze(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t axes[ONNX_MAX_DIMS], rank = onnx_rank(n, x);
    int count = onnx_axes_in(n, 1, axes, ONNX_MAX_DIMS);
    if (rank < 0 || n->failed)
        return false;
    if (count < 0)
        return onnx_fail(n, TNB_INVALID, "the list of axes is missing");
    return onnx_axes(n, rank + count, axes, count) &&
           onnx_ret(n, onnx_unsqueeze(n, x, axes, (uint32_t)count));
}

static bool
import_flatten(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *out[2];
    int64_t axis = onnx_attr_int(n, "axis", 1), rank = onnx_rank(n, x);
    tn_list dims;
    if (rank < 0 || !onnx_dims(n, x, &dims))
        return false;
    if (axis < -rank || axis > rank)
        return onnx_fail(n, TNB_BOUNDS,
                         "attribute 'axis' is %" PRId64 ", but the input has rank %" PRId64, axis,
                         rank);
    axis = axis < 0 ? axis + rank : axis;
    out[0] = tn_product(n->ctx, (tn_list){dims.at, (uint32_t)axis});
    out[1] = tn_product(n->ctx, (tn_list){dims.at + axis, dims.n - (uint32_t)axis});
    return onnx_ret(n, onnx_reshape(n, x, out, 2));
}

/* Whether run time decides which of two extents is repeated. */
static bool
expand_is_open(onnx_node *n, tn_list in, const tn_expr *const *want, uint32_t count)
{
    for (uint32_t i = 1; i <= count; i++) {
        const tn_expr *b = onnx_simplify(n, want[count - i]);
        if (!onnx_is_plain(n, b))
            return true;
        if (i > in.n || tn_is_int_const(b, 1) || tn_is_int_const(in.at[in.n - i], 1))
            continue;
        bool numbers = tn_is(b, TN_KIND_INT_IMM) && tn_is(in.at[in.n - i], TN_KIND_INT_IMM);
        if (!numbers && !tn_prove_equal(n->ctx, in.at[in.n - i], b))
            return true;
    }
    return false;
}

static bool
expand_at_run_time(onnx_node *n, const tn_expr *x, tn_list in, const tn_expr *const *want,
                   uint32_t count, uint32_t rank)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *one = tn_i64(ctx, 1), *out[ONNX_MAX_DIMS], *have[ONNX_MAX_DIMS], *ok = NULL,
                  *shown[2 * ONNX_MAX_DIMS];
    const char *text[2] = {"", ""};
    for (uint32_t i = 0; i < rank; i++) {
        const tn_expr *a = have[i] = i < rank - in.n ? one : in.at[i - (rank - in.n)],
                      *b = i < rank - count ? one : onnx_simplify(n, want[i - (rank - count)]);
        shown[i] = a;
        shown[rank + i] = b;
        text[0] = tn_strf(ctx, "%s%s{%u}", text[0], i ? ", " : "", i + 1);
        text[1] = tn_strf(ctx, "%s%s{%u}", text[1], i ? ", " : "", rank + i + 1);
        const tn_expr *a_one = onnx_t(n, ONNX_EQUAL, a, one),
                      *b_one = onnx_t(n, ONNX_EQUAL, b, one), *same = onnx_t(n, ONNX_EQUAL, a, b);
        out[i] = onnx_t_where(n, b_one, a, b);
        ok = tn_and(ctx, ok,
                    onnx_truth(n, onnx_t(n, ONNX_OR, same, onnx_t(n, ONNX_OR, a_one, b_one))));
        if (onnx_is_plain(n, out[i]) && !tn_is(out[i], TN_KIND_INT_IMM) && !tn_is_int_const(a, 1) &&
            !tn_prove_equal(ctx, a, b) && !tn_is_int_const(b, 1)) /* checked, so named anew */
            out[i] = tn_select_of(ctx, tn_eq_of(ctx, b, one), a, b);
    }
    onnx_demand d = {ok, shown, 2 * rank,
                     tn_strf(ctx, "the shape [%s] cannot be expanded to [%s]", text[0], text[1])};
    if (!onnx_bind(n, out, rank, &d))
        return false;
    return onnx_ret(n, onnx_expand_at(n, onnx_reshape(n, x, have, rank), out));
}

static bool
import_expand(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *const * want;
    const tn_expr *out[ONNX_MAX_DIMS];
    uint32_t count;
    tn_list dims;
    if (!onnx_elems(n, 1, "the target shape", &want, &count) || !onnx_dims(n, x, &dims))
        return false;
    uint32_t rank = dims.n > count ? dims.n : count;
    if (rank > ONNX_MAX_DIMS)
        return onnx_fail(n, TNB_BOUNDS, "the target shape has %u entries", count);
    if (expand_is_open(n, dims, want, count))
        return expand_at_run_time(n, x, dims, want, count, rank);
    for (uint32_t i = 0; i < rank; i++) {
        const tn_expr *a = i < rank - dims.n ? tn_i64(n->ctx, 1) : dims.at[i - (rank - dims.n)];
        const tn_expr *b =
            i < rank - count ? tn_i64(n->ctx, 1) : onnx_simplify(n, want[i - (rank - count)]);
        int64_t va, vb;
        if (tn_int_value(b, &vb) && vb < 0)
            return onnx_fail(n, TNB_SHAPE, "entry %u of the target shape is %" PRId64,
                             i - (rank - count), vb);
        if (tn_int_value(a, &va) && tn_int_value(b, &vb) && va != vb && va != 1 && vb != 1)
            return onnx_fail(n, TNB_SHAPE,
                             "extent %" PRId64 " of axis %u cannot be expanded to %" PRId64, va, i,
                             vb);
        out[i] = tn_broadcast_dim(n->ctx, a, b, rank - i);
    }
    return onnx_ret(n, onnx_broadcast(n, x, out, rank));
}

/* Each axis gets one before it, which is repeated; then both become one. */
static bool
tile_at_run_time(onnx_node *n, const tn_expr *x)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *const *given, *times[ONNX_MAX_DIMS], *apart[2 * ONNX_MAX_DIMS],
        *wide[2 * ONNX_MAX_DIMS], *out[ONNX_MAX_DIMS];
    uint32_t count;
    tn_list in;
    if (!onnx_elems(n, 1, "the repeats", &given, &count) || !onnx_dims(n, x, &in))
        return false;
    if (count != in.n || in.n > ONNX_MAX_DIMS / 2)
        return onnx_fail(n, TNB_SHAPE, "there are %u repeats, but the input has rank %u", count,
                         in.n);
    memcpy(times, given, count * sizeof *times);
    if (!onnx_bind(n, times, count, NULL))
        return false;
    uint32_t m = 0;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = onnx_simplify(n, tn_mul(ctx, times[i], in.at[i]));
        if (!tn_is_int_const(times[i], 1)) {
            apart[m] = tn_i64(ctx, 1);
            wide[m++] = times[i];
        }
        apart[m] = wide[m] = in.at[i];
        m++;
    }
    x = onnx_reshape(n, x, apart, m);
    return onnx_ret(n, onnx_reshape(n, onnx_broadcast(n, x, wide, m), out, count));
}

static bool
import_tile(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    int64_t repeats[ONNX_MAX_DIMS], rank = onnx_rank(n, x), tiles, axis;
    uint32_t count;
    if (rank < 0)
        return false;
    if (n->version < 6) {
        if (!onnx_in_int(n, 1, "the number of tiles", &tiles) ||
            !onnx_in_int(n, 2, "the axis", &axis) || !onnx_axis(n, rank, &axis))
            return false;
        for (count = 0; count < rank; count++)
            repeats[count] = count == axis ? tiles : 1;
    } else if (!onnx_are_numbers(n, 1)) {
        return tile_at_run_time(n, x);
    } else if (!onnx_ints(n, 1, "the repeats", repeats, ONNX_MAX_DIMS, &count)) {
        return false;
    }
    if (count != rank)
        return onnx_fail(n, TNB_SHAPE, "there are %u repeats, but the input has rank %" PRId64,
                         count, rank);
    return onnx_ret(n, onnx_emit(n, "tile",
                                 tn_dictv(n->ctx, "repeats", tn_int_array(n->ctx, repeats, count),
                                          NULL),
                                 x, NULL));
}

/* Amounts that are terms. */
static bool
pad_at_run_time(onnx_node *n, const tn_expr *x, const char *mode)
{
    const tn_expr *const *pads, *before[ONNX_MAX_DIMS], *after[ONNX_MAX_DIMS], *value = NULL;
    int64_t axes[ONNX_MAX_DIMS], rank = onnx_rank(n, x);
    uint32_t count, n_axes;
    if (!onnx_elems(n, 1, "the paddings", &pads, &count))
        return false;
    for (n_axes = 0; n_axes < rank; n_axes++)
        axes[n_axes] = n_axes;
    if (onnx_has(n, 3) && (!onnx_ints(n, 3, "the axes", axes, ONNX_MAX_DIMS, &n_axes) ||
                           !onnx_axes(n, rank, axes, (int)n_axes)))
        return false;
    if (count != 2 * n_axes)
        return onnx_fail(n, TNB_SHAPE, "there are %u paddings for %u axes, expected %u", count,
                         n_axes, 2 * n_axes);
    for (int64_t i = 0; i < rank; i++)
        before[i] = after[i] = tn_i64(n->ctx, 0);
    for (uint32_t i = 0; i < n_axes; i++) {
        before[axes[i]] = onnx_simplify(n, pads[i]);
        after[axes[i]] = onnx_simplify(n, pads[n_axes + i]);
    }
    if (onnx_has(n, 2))
        value = onnx_reshape(n, onnx_in(n, 2), NULL, 0);
    return onnx_ret(n, onnx_pad_at(n, x, before, after, mode, value));
}

/* Pads by [before, after] of each axis; negative amounts cut. */
static const tn_expr *
pad_by(onnx_node *n, const tn_expr *x, const int64_t *width, uint32_t rank, const char *mode)
{
    const tn_expr *before[ONNX_MAX_DIMS], *after[ONNX_MAX_DIMS];
    for (uint32_t i = 0; i < rank; i++) {
        before[i] = tn_i64(n->ctx, width[2 * i]);
        after[i] = tn_i64(n->ctx, width[2 * i + 1]);
    }
    return onnx_pad_at(n, x, before, after, mode, NULL);
}

/* Whether the padding value may stand in an attribute, which is a float64. */
static bool
is_double(const onnx_value *v)
{
    int64_t k;
    return v->n_elems != 1 || !tn_int_value(v->elems[0], &k) || (k >> 53) == (k < 0 ? -1 : 0);
}

static bool
import_pad(onnx_node *n)
{
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap", NULL};
    static const char *const relax[] = {"constant", "reflect", "replicate", "circular"};
    const tn_expr *x = onnx_in(n, 0);
    int64_t pads[2 * ONNX_MAX_DIMS], width[2 * ONNX_MAX_DIMS] = {0}, axes[ONNX_MAX_DIMS],
                                               rank = onnx_rank(n, x);
    int mode = onnx_attr_choice(n, "mode", "constant", modes);
    uint32_t count = 0, n_axes = 0;
    double value = 0;
    bool at_run_time = false;
    if (rank < 0 || mode < 0)
        return false;
    if (n->version < 11) {
        int have = onnx_attr_ints(n, n->version < 2 ? "paddings" : "pads", pads, 2 * ONNX_MAX_DIMS);
        if (have < 0)
            return n->failed ? false : onnx_fail(n, TNB_INVALID, "attribute 'pads' is missing");
        count = (uint32_t)have;
        value = onnx_attr_float(n, "value", 0);
    } else {
        if (!onnx_are_numbers(n, 1))
            return pad_at_run_time(n, x, modes[mode]);
        if (!onnx_ints(n, 1, "the paddings", pads, 2 * ONNX_MAX_DIMS, &count))
            return false;
        at_run_time = onnx_has(n, 2) && (!onnx_known(n, 2) || !is_double(n->in[2]));
        if (onnx_has(n, 2) && !at_run_time && !onnx_in_float(n, 2, "the padding value", &value))
            return false;
    }
    for (n_axes = 0; n_axes < rank; n_axes++)
        axes[n_axes] = n_axes;
    if (onnx_has(n, 3) && (!onnx_ints(n, 3, "the axes", axes, ONNX_MAX_DIMS, &n_axes) ||
                           !onnx_axes(n, rank, axes, (int)n_axes)))
        return false;
    if (count != 2 * n_axes)
        return onnx_fail(n, TNB_SHAPE, "there are %u paddings for %u axes, expected %u", count,
                         n_axes, 2 * n_axes);
    bool cuts = false;
    for (uint32_t i = 0; i < n_axes; i++) {
        width[2 * axes[i]] = pads[i];
        width[2 * axes[i] + 1] = pads[n_axes + i];
        cuts |= pads[i] < 0 || pads[n_axes + i] < 0;
    }
    if (mode != 0 && cuts) /* what is cut is not repeated */
        return onnx_ret(n, pad_by(n, x, width, (uint32_t)rank, modes[mode]));
    const tn_node *attrs =
        tn_dictv(n->ctx, "pad_width", tn_int_array(n->ctx, width, 2 * (uint32_t)rank), "pad_mode",
                 tn_string(n->ctx, relax[mode]), "pad_value",
                 tn_float_imm_of(n->ctx, TNB_F64, value), NULL);
    const tn_expr *y = onnx_emit(n, "nn.pad", attrs, x, NULL);
    if (mode != 0 || !at_run_time)
        return onnx_ret(n, y);
    /* the same paddings around ones say where the value goes */
    tn_list d;
    if (n->failed || !onnx_dims(n, x, &d))
        return false;
    const tn_expr *own = onnx_emit(n, "nn.pad", attrs, onnx_full(n, d.at, d.n, TNB_I8, 1), NULL);
    const tn_expr *outside = onnx_reshape(n, onnx_in(n, 2), NULL, 0);
    return onnx_ret(n, onnx_where(n, onnx_astype(n, own, TNB_B8), y, outside));
}

/* The input's extents as [N, C, H, W] expressions. */
static bool
image_dims(onnx_node *n, const tn_expr *x, tn_list *d, int64_t *block)
{
    *block = onnx_attr_int(n, "blocksize", 0);
    if (!onnx_dims(n, x, d))
        return false;
    if (d->n != 4)
        return onnx_fail(n, TNB_SHAPE, "the input has rank %u, expected 4", d->n);
    return (*block > 0 && *block < 65536) ||
           onnx_fail(n, TNB_INVALID, "attribute 'blocksize' is %" PRId64 ", expected 1 or more",
                     *block);
}

static bool
import_depth_to_space(onnx_node *n)
{
    static const char *const modes[] = {"DCR", "CRD", NULL};
    static const int64_t perms[2][6] = {{0, 3, 4, 1, 5, 2}, {0, 1, 4, 2, 5, 3}};
    const tn_expr *x = onnx_in(n, 0);
    int crd = onnx_attr_choice(n, "mode", "DCR", modes);
    int64_t b;
    tn_list d;
    if (crd < 0 || !image_dims(n, x, &d, &b))
        return false;
    const tn_expr *k = tn_i64(n->ctx, b),
                  *c = onnx_simplify(n, tn_floordiv(n->ctx, d.at[1], tn_i64(n->ctx, b * b)));
    const tn_expr *six[2][6] = {{d.at[0], k, k, c, d.at[2], d.at[3]},
                                {d.at[0], c, k, k, d.at[2], d.at[3]}};
    const tn_expr *out[] = {d.at[0], c, tn_mul(n->ctx, d.at[2], k), tn_mul(n->ctx, d.at[3], k)};
    x = onnx_permute(n, onnx_reshape(n, x, six[crd], 6), perms[crd], 6);
    return onnx_ret(n, onnx_reshape(n, x, out, 4));
}

static bool
import_space_to_depth(onnx_node *n)
{
    static const char *const modes[] = {"DCR", "CRD", NULL};
    static const int64_t perms[2][6] = {{0, 3, 5, 1, 2, 4}, {0, 1, 3, 5, 2, 4}};
    const tn_expr *x = onnx_in(n, 0);
    int crd = onnx_attr_choice(n, "mode", "DCR", modes);
    int64_t b;
    tn_list d;
    if (crd < 0 || !image_dims(n, x, &d, &b))
        return false;
    const tn_expr *k = tn_i64(n->ctx, b), *h = onnx_simplify(n, tn_floordiv(n->ctx, d.at[2], k)),
                  *w = onnx_simplify(n, tn_floordiv(n->ctx, d.at[3], k));
    const tn_expr *six[] = {d.at[0], d.at[1], h, k, w, k};
    const tn_expr *out[] = {d.at[0], tn_mul(n->ctx, d.at[1], tn_i64(n->ctx, b * b)), h, w};
    x = onnx_permute(n, onnx_reshape(n, x, six, 6), perms[crd], 6);
    return onnx_ret(n, onnx_reshape(n, x, out, 4));
}

static bool
import_reverse_sequence(onnx_node *n)
{
    int64_t seq = onnx_attr_int(n, "time_axis", 0), batch = onnx_attr_int(n, "batch_axis", 1);
    return onnx_ret(n, onnx_emit(n, "reverse_sequence",
                                 tn_dictv(n->ctx, "seq_axis", tn_i64(n->ctx, seq), "batch_axis",
                                          tn_i64(n->ctx, batch), NULL),
                                 onnx_in(n, 0), onnx_in(n, 1), NULL));
}

/* The diagonal is known at run time: distances of elements from the main one are compared with it.
 */
static bool
trilu_at(onnx_node *n, bool upper)
{
    const tn_expr *x = onnx_in(n, 0), *at[2];
    const tn_expr *k = onnx_reshape(n, onnx_astype(n, onnx_in(n, 1), TNB_I64), NULL, 0);
    int64_t last = 1;
    tn_list d;
    if (n->failed || !onnx_dims(n, x, &d))
        return false;
    if (d.n < 2)
        return onnx_fail(n, TNB_SHAPE, "the input has rank %u, expected 2 or more", d.n);
    for (uint32_t i = 0; i < 2; i++)
        at[i] = onnx_arange(n, tn_i64(n->ctx, 0), d.at[d.n - 2 + i], tn_i64(n->ctx, 1), TNB_I64);
    const tn_expr *distance = onnx_bin(n, "subtract", at[1], onnx_unsqueeze(n, at[0], &last, 1));
    const tn_expr *kept = onnx_bin(n, upper ? "greater_equal" : "less_equal", distance, k);
    return onnx_ret(n, onnx_where(n, kept, x, onnx_scalar_int(n, onnx_dtype(x), 0)));
}

static bool
import_trilu(onnx_node *n)
{
    int64_t k = 0;
    bool upper = onnx_attr_int(n, "upper", 1) != 0;
    if (onnx_has(n, 1) && !onnx_known(n, 1))
        return trilu_at(n, upper);
    if (onnx_has(n, 1) && !onnx_in_int(n, 1, "the diagonal", &k))
        return false;
    return onnx_ret(n, onnx_emit(n, upper ? "triu" : "tril", NULL, onnx_in(n, 0), tn_i64(n->ctx, k),
                                 NULL));
}

/* Extents that are terms: what is missing is padded, what is too much is cut, half on either side. */
static bool
center_at_run_time(onnx_node *n, const tn_expr *x, tn_list in)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *const *want, *before[ONNX_MAX_DIMS], *after[ONNX_MAX_DIMS],
        *two = tn_i64(ctx, 2), *zero = tn_i64(ctx, 0), *w;
    int64_t axes[ONNX_MAX_DIMS];
    int n_axes = onnx_attr_ints(n, "axes", axes, ONNX_MAX_DIMS);
    uint32_t count;
    if (n->failed || !onnx_elems(n, 1, "the target shape", &want, &count))
        return false;
    if (n_axes < 0)
        for (n_axes = 0; n_axes < (int)in.n; n_axes++)
            axes[n_axes] = n_axes;
    if (!onnx_axes(n, in.n, axes, n_axes) || count != (uint32_t)n_axes)
        return n->failed ? false
                         : onnx_fail(n, TNB_SHAPE, "there are %u target extents for %d axes", count,
                                     n_axes);
    for (uint32_t i = 0; i < in.n; i++)
        before[i] = after[i] = zero;
    for (uint32_t i = 0; i < count; i++) {
        w = want[i];
        if (!onnx_bind(n, &w, 1, NULL))
            return false;
        const tn_expr *more = onnx_simplify(n, tn_sub(ctx, w, in.at[axes[i]])),
                      *cut = tn_floordiv(ctx, tn_sub(ctx, zero, more), two);
        before[axes[i]] = onnx_t_where(n, onnx_t(n, ONNX_LESS, more, zero), tn_sub(ctx, zero, cut),
                                       tn_floordiv(ctx, more, two));
        after[axes[i]] = tn_sub(ctx, more, before[axes[i]]);
    }
    return onnx_ret(n, onnx_pad_at(n, x, before, after, "constant", NULL));
}

static bool
has_numbers_only(tn_list dims)
{
    for (uint32_t i = 0; i < dims.n; i++)
        if (!tn_is(dims.at[i], TN_KIND_INT_IMM))
            return false;
    return true;
}

static bool
import_center_crop_pad(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    tn_list in;
    if (!onnx_dims(n, x, &in))
        return false;
    if (!onnx_are_numbers(n, 1) || !has_numbers_only(in))
        return center_at_run_time(n, x, in);
    int64_t dims[ONNX_MAX_DIMS], want[ONNX_MAX_DIMS], axes[ONNX_MAX_DIMS],
        before[ONNX_MAX_DIMS] = {0}, after[ONNX_MAX_DIMS] = {0};
    uint32_t count;
    int rank = onnx_static_dims(n, x, dims, "the input"),
        n_axes = onnx_attr_ints(n, "axes", axes, ONNX_MAX_DIMS);
    if (rank < 0 || n->failed || !onnx_ints(n, 1, "the target shape", want, ONNX_MAX_DIMS, &count))
        return false;
    if (n_axes < 0)
        for (n_axes = 0; n_axes < rank; n_axes++)
            axes[n_axes] = n_axes;
    if (!onnx_axes(n, rank, axes, n_axes) || count != (uint32_t)n_axes)
        return n->failed ? false
                         : onnx_fail(n, TNB_SHAPE, "there are %u target extents for %d axes", count,
                                     n_axes);
    for (int i = 0; i < n_axes; i++) {
        if (want[i] < 0)
            return onnx_fail(n, TNB_SHAPE, "target extent %d is %" PRId64, i, want[i]);
        int64_t have = dims[axes[i]], more = want[i] - have;
        if (more < 0)
            x = onnx_slice_ints(n, x, axes[i], -more / 2, -more / 2 + want[i]);
        before[axes[i]] = more > 0 ? more / 2 : 0;
        after[axes[i]] = more > 0 ? more - more / 2 : 0;
    }
    return onnx_ret(n, onnx_pad(n, x, before, after, (uint32_t)rank, 0));
}

const onnx_op onnx_manipulate_ops[] = {
    {"Identity", 1, 0, 1, 1, 1, 1, import_identity, onnx_fold_identity, 0, NULL},
    {"Reshape", 1, 0, 1, 2, 1, 1, import_reshape, onnx_fold_reshape, 0, NULL},
    {"Transpose", 1, 0, 1, 1, 1, 1, import_transpose, onnx_fold_transpose, 0, NULL},
    {"Concat", 1, 0, 1, -1, 1, 1, import_concat, onnx_fold_concat, 0, NULL},
    {"Split", 1, 0, 1, 2, 1, -1, import_split, onnx_fold_split, 0, NULL},
    {"Slice", 1, 0, 1, 5, 1, 1, import_slice, onnx_fold_slice, 0, NULL},
    {"Squeeze", 1, 0, 1, 2, 1, 1, import_squeeze, onnx_fold_squeeze, 0, NULL},
    {"Unsqueeze", 1, 0, 1, 2, 1, 1, import_unsqueeze, onnx_fold_unsqueeze, 0, NULL},
    {"Flatten", 1, 0, 1, 1, 1, 1, import_flatten, onnx_fold_flatten, 0, NULL},
    {"Expand", 8, 0, 2, 2, 1, 1, import_expand, onnx_fold_expand, 0, NULL},
    {"Tile", 1, 0, 2, 3, 1, 1, import_tile, NULL, 0, NULL},
    {"Pad", 1, 0, 1, 4, 1, 1, import_pad, NULL, 0, NULL},
    {"DepthToSpace", 1, 0, 1, 1, 1, 1, import_depth_to_space, NULL, 0, NULL},
    {"SpaceToDepth", 1, 0, 1, 1, 1, 1, import_space_to_depth, NULL, 0, NULL},
    {"ReverseSequence", 10, 0, 2, 2, 1, 1, import_reverse_sequence, NULL, 0, NULL},
    {"Trilu", 14, 0, 1, 2, 1, 1, import_trilu, NULL, 0, NULL},
    {"CenterCropPad", 18, 0, 2, 2, 1, 1, import_center_crop_pad, NULL, 0, NULL},
    {0},
};
