/* SPDX-License-Identifier: Apache-2.0 */
/* Padding, pixel shuffle, attention, negative log likelihood. */
#include "emit.h"

#include <math.h>

/* ---- pad ---- */

enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR, PAD_UNKNOWN };

static enum pad_mode
pad_mode_of(const tn_call *call)
{
    static const struct {
        const char *name;
        enum pad_mode mode;
    } modes[] = {{"constant", PAD_CONSTANT},   {"reflect", PAD_REFLECT},
                 {"replicate", PAD_REPLICATE}, {"edge", PAD_REPLICATE},
                 {"circular", PAD_CIRCULAR},   {"wrap", PAD_CIRCULAR}};
    for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (!strcmp(modes[i].name, tn_call_str(call, "pad_mode")))
            return modes[i].mode;
    }
    return PAD_UNKNOWN;
}

/* No axis has more elements than fit the address space. */
static const int64_t MOST_PAD = (int64_t)1 << 48;

const tn_type *
infer_pad(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    int64_t w[2 * INFER_MAX_DIMS];
    tn_list dims;
    if (!t)
        return tn_error_node(ctx);
    if (pad_mode_of(call) == PAD_UNKNOWN) {
        infer_fail(ctx, call, TNB_INVALID, "attribute 'pad_mode' is \"%s\"",
                   tn_call_str(call, "pad_mode"));
        tnb_diag_hint(tn_diags(ctx),
                      "modes are constant, reflect, replicate (edge), circular (wrap)");
        return tn_error_node(ctx);
    }
    int n = tn_call_ints(call, "pad_width", w, 2 * INFER_MAX_DIMS);
    if (n < 0 || (t->ndim >= 0 && n != 2 * t->ndim))
        return infer_fail(
            ctx, call, TNB_INVALID,
            "attribute 'pad_width' has %d entries for %lld axes, expected two an axis", n,
            (long long)t->ndim);
    if (!tn_type_dims(TN_NODE(t), &dims))
        return infer_rank(ctx, call, t->ndim, t->dtype);
    for (uint32_t i = 0; i < dims.n; i++) {
        int64_t v;
        if (w[2 * i] < -MOST_PAD || w[2 * i] > MOST_PAD || w[2 * i + 1] < -MOST_PAD ||
            w[2 * i + 1] > MOST_PAD)
            return infer_fail(
                ctx, call, TNB_SHAPE,
                "attribute 'pad_width' pads axis %u by %lld and %lld, at most %lld is possible", i,
                (long long)w[2 * i], (long long)w[2 * i + 1], (long long)MOST_PAD);
        const tn_expr *e = dim_addi(ctx, dims.at[i], w[2 * i] + w[2 * i + 1]);
        if (tn_int_value(e, &v) && v < 0)
            return infer_fail(ctx, call, TNB_SHAPE, "attribute 'pad_width' cuts axis %u to %lld", i,
                              (long long)v);
        if (pad_mode_of(call) != PAD_CONSTANT && (w[2 * i] > 0 || w[2 * i + 1] > 0) &&
            dim_exceeds(ctx, tn_i64(ctx, 1), dims.at[i],
                        "axis %u needs {} element or more to be padded with, but has {}", i))
            return infer_fail(ctx, call, TNB_SHAPE, "axis %u has no elements to be padded with", i);
        dims = tn_list_with(ctx, dims, i, e);
    }
    return infer_known(ctx, call, dims, t->dtype);
}

/* Where the padded axis' place p (already without the border's width) reads from. */
static const tn_expr *
pad_source(tn_ctx *ctx, enum pad_mode mode, const tn_expr *p, const tn_expr *n)
{
    const tn_expr *last = tn_subi(ctx, n, 1);
    if (mode == PAD_REPLICATE)
        return tn_min(ctx, tn_max(ctx, p, tn_i64(ctx, 0)), last);
    if (mode == PAD_CIRCULAR)
        return emit_floormod(ctx, p, n);
    const tn_expr *period = tn_max(ctx, tn_muli(ctx, last, 2), tn_i64(ctx, 1));
    const tn_expr *m = emit_floormod(ctx, p, period);
    return tn_select_of(ctx, tn_lt_of(ctx, m, n), m, tn_sub(ctx, period, m));
}

const tn_expr *
legalize_pad(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    enum pad_mode mode = pad_mode_of(call);
    const tn_node *x = emit_input(&e, call->args.at[0]);
    int64_t w[2 * INFER_MAX_DIMS];
    uint32_t n = emit_ndim(x);
    const tn_expr *idx[INFER_MAX_DIMS], *inside = NULL;
    if (n > INFER_MAX_DIMS ||
        tn_call_ints(call, "pad_width", w, 2 * INFER_MAX_DIMS) != (int)(2 * n))
        return NULL;
    tnk_stage *s = emit_stage(&e, "PadInput");
    for (uint32_t i = 0; i < n; i++) {
        const tn_expr *dim = emit_dim(x, i);
        idx[i] = w[2 * i] ? tn_subi(ctx, s->axes[i], w[2 * i]) : s->axes[i];
        if (mode != PAD_CONSTANT) {
            if (w[2 * i] || w[2 * i + 1])
                idx[i] = pad_source(ctx, mode, idx[i], dim);
            continue;
        }
        if (w[2 * i] > 0) {
            const tn_expr *c = tn_ge_of(ctx, s->axes[i], tn_i64(ctx, w[2 * i]));
            inside = inside ? tn_and_of(ctx, inside, c) : c;
        }
        if (w[2 * i + 1] > 0) {
            const tn_expr *c = tn_lt_of(ctx, idx[i], dim);
            inside = inside ? tn_and_of(ctx, inside, c) : c;
        }
    }
    const tn_expr *v = tnk_te_read_at(e.te, x, idx, n);
    if (inside)
        v = tn_if_then_else(ctx, inside, v,
                            tn_literal(ctx, emit_dtype(x), tn_call_float(call, "pad_value")));
    static const char *const hints[] = {"pad", "reflect_pad", "replicate_pad", "circular_pad"};
    return emit_end(&e, hints[mode], tnk_te_define(s, v));
}

/* ---- pixel_shuffle ---- */

const tn_type *
infer_pixel_shuffle(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    int64_t r = tn_call_int(call, "upscale_factor"), c;
    tn_list dims;
    if (!t)
        return tn_error_node(ctx);
    if (r < 1 || r > INT32_MAX)
        return infer_fail(ctx, call, TNB_INVALID,
                          "attribute 'upscale_factor' is %lld, expected at least 1", (long long)r);
    if (t->ndim >= 0 && t->ndim < 3)
        return infer_fail(ctx, call, TNB_SHAPE,
                          "the data must have at least three axes, but has %lld",
                          (long long)t->ndim);
    if (!tn_type_dims(TN_NODE(t), &dims))
        return infer_rank(ctx, call, t->ndim, t->dtype);
    uint32_t at = dims.n - 3;
    if (dim_ragged(ctx, dims.at[at], r * r,
                   "{} channels are not a multiple of upscale_factor squared (%lld)",
                   (long long)(r * r)) &&
        tn_int_value(dims.at[at], &c))
        return infer_fail(ctx, call, TNB_SHAPE,
                          "%lld channels are not a multiple of upscale_factor squared (%lld)",
                          (long long)c, (long long)(r * r));
    dims = tn_list_with(ctx, dims, at, dim_floordiv(ctx, dims.at[at], r * r));
    dims = tn_list_with(ctx, dims, at + 1, dim_muli(ctx, dims.at[at + 1], r));
    return infer_known(ctx, call,
                       tn_list_with(ctx, dims, at + 2, dim_muli(ctx, dims.at[at + 2], r)),
                       t->dtype);
}

const tn_expr *
legalize_pixel_shuffle(tn_builder *b, const tn_call *call)
{
    emit e = emit_begin(b, call);
    tn_ctx *ctx = e.ctx;
    const tn_node *x = emit_input(&e, call->args.at[0]);
    const tn_expr *r = tn_i64(ctx, tn_call_int(call, "upscale_factor")), *idx[INFER_MAX_DIMS];
    tnk_stage *s = emit_stage(&e, "T_pixel_shuffle");
    uint32_t n = s->n_axes;
    if (n > INFER_MAX_DIMS)
        return NULL;
    memcpy(idx, s->axes, n * sizeof *idx);
    const tn_expr *row = s->axes[n - 2], *column = s->axes[n - 1];
    const tn_expr *in_row = emit_floormod(ctx, row, r), *in_column = emit_floormod(ctx, column, r);
    const tn_expr *first = tn_add(ctx, tn_mul(ctx, s->axes[n - 3], r), in_row);
    idx[n - 3] = tn_add(ctx, tn_mul(ctx, first, r), in_column);
    idx[n - 2] = emit_floordiv(ctx, row, r);
    idx[n - 1] = emit_floordiv(ctx, column, r);
    return emit_end(&e, "pixel_shuffle", tnk_te_define(s, tnk_te_read_at(e.te, x, idx, n)));
}

/* ---- attention ---- */

/* Sequences one behind the other, with the places where they start. */
static bool
is_var_len(const tn_call *call)
{
    return call->args.n == 7;
}

static bool
check_starts(tn_ctx *ctx, const tn_call *call)
{
    static const char *const names[] = {"seqstart_q", "seqstart_k"};
    tn_list dims[2];
    bool known = true;
    for (uint32_t i = 0; i < 2; i++) {
        const tn_ty_tensor *t = tn_as_ty_tensor(call->args.at[3 + i]->type);
        if ((t->ndim >= 0 && t->ndim != 1) ||
            (!tnb_dtype_is_void(t->dtype) && !tnb_dtype_is_int(t->dtype))) {
            infer_fail(ctx, call, TNB_TYPE, "argument '%s' must be a vector of integers", names[i]);
            return false;
        }
        known &= tn_type_dims(TN_NODE(t), &dims[i]);
    }
    if (known &&
        dim_differ(ctx, dims[0].at[0], dims[1].at[0], "{} starts of queries, but {} of keys")) {
        infer_fail(ctx, call, TNB_SHAPE, "%s starts of queries, but %s of keys",
                   tn_text(ctx, dims[0].at[0]), tn_text(ctx, dims[1].at[0]));
        return false;
    }
    return true;
}

/* Heads of queries share one of keys. */
static void
assume_heads(tn_ctx *ctx, const tn_list *d)
{
    const tn_expr *heads[] = {d[0].at[2], d[1].at[2]};
    const tn_expr *left = tn_floormod(ctx, heads[0], tn_max(ctx, heads[1], tn_i64(ctx, 1)));
    tn_assume(ctx, tn_eq_of(ctx, left, tn_i64(ctx, 0)),
              "query has {} heads, key {}, which do not divide them", (tn_list){heads, 2});
}

/* A bias is broadcast to the scores, to which it is added. */
static bool
check_bias(tn_ctx *ctx, const tn_call *call, const tn_list *d, tnb_dtype dtype)
{
    const tn_ty_tensor *t = tn_as_ty_tensor(call->args.at[3]->type);
    const tn_expr *scores[] = {d[0].at[0], d[0].at[2], d[0].at[1], d[1].at[1]};
    tn_list bias;
    if (!infer_same_dtype(ctx, call, dtype, t->dtype, &dtype))
        return false;
    if (t->ndim > 4) {
        infer_fail(ctx, call, TNB_SHAPE, "the bias has %lld axes, the scores 4",
                   (long long)t->ndim);
        return false;
    }
    for (uint32_t i = 0; tn_type_dims(TN_NODE(t), &bias) && i < bias.n; i++) {
        const tn_expr *to = scores[4 - bias.n + i];
        if (dim_misfit(ctx, bias.at[i], to, "the bias has extent {} in axis %u, the scores {}",
                       i)) {
            infer_fail(ctx, call, TNB_SHAPE, "the bias has extent %s in axis %u, the scores %s",
                       tn_text(ctx, bias.at[i]), i, tn_text(ctx, to));
            return false;
        }
    }
    return true;
}

/* Not where it is known that they do not. */
static bool
heads_divide(const tn_expr *of_query, const tn_expr *shared)
{
    int64_t h, by;
    if (!tn_int_value(shared, &by) || by == 0)
        return !tn_is(shared, TN_KIND_INT_IMM);
    return !tn_int_value(of_query, &h) || h % by == 0;
}

const tn_type *
infer_attention(tn_ctx *ctx, const tn_call *call)
{
    static const char *const names[] = {"query", "key", "value"};
    const tn_ty_tensor *t[3];
    tn_list d[3];
    tnb_dtype dtype = TNB_VOID;
    bool known = true;
    for (uint32_t i = 0; i < 3; i++) {
        t[i] = infer_tensor(ctx, call, i);
        if (!t[i] || !infer_float_data(ctx, call, t[i]))
            return tn_error_node(ctx);
        if (t[i]->ndim >= 0 && t[i]->ndim != 4)
            return infer_fail(ctx, call, TNB_SHAPE, "argument '%s' must have 4 axes, but has %lld",
                              names[i], (long long)t[i]->ndim);
        if (i == 0)
            dtype = t[i]->dtype;
        else if (!infer_same_dtype(ctx, call, dtype, t[i]->dtype, &dtype))
            return tn_error_node(ctx);
        known &= tn_type_dims(TN_NODE(t[i]), &d[i]);
    }
    for (uint32_t i = 3; i < call->args.n; i++)
        if (!infer_tensor(ctx, call, i))
            return tn_error_node(ctx);
    if (is_var_len(call) && !check_starts(ctx, call))
        return tn_error_node(ctx);
    const char *mask = tn_call_attr(call, "causal_mask") ? tn_call_str(call, "causal_mask") : NULL;
    if (mask && strcmp(mask, "TopLeft") && strcmp(mask, "BottomRight"))
        return infer_fail(
            ctx, call, TNB_INVALID,
            "attribute 'causal_mask' is \"%s\", expected TopLeft, BottomRight or None", mask);
    if (!known)
        return infer_rank(ctx, call, 4, dtype);
    if (dim_differ(ctx, d[0].at[0], d[1].at[0], "query has {} batch entries, key {}") ||
        dim_differ(ctx, d[0].at[0], d[2].at[0], "query has {} batch entries, value {}"))
        return infer_fail(ctx, call, TNB_SHAPE, "batches differ");
    if (dim_differ(ctx, d[0].at[3], d[1].at[3], "query has head size {}, key {}"))
        return infer_fail(ctx, call, TNB_SHAPE, "query has head size %s, key %s",
                          tn_text(ctx, d[0].at[3]), tn_text(ctx, d[1].at[3]));
    if (dim_differ(ctx, d[1].at[1], d[2].at[1], "key has {} positions, value {}"))
        return infer_fail(ctx, call, TNB_SHAPE, "key has %s positions, value %s",
                          tn_text(ctx, d[1].at[1]), tn_text(ctx, d[2].at[1]));
    if (tn_assuming(ctx))
        assume_heads(ctx, d);
    if (call->args.n == 4 && !check_bias(ctx, call, d, dtype))
        return tn_error_node(ctx);
    if (dim_differ(ctx, d[1].at[2], d[2].at[2], "key has {} heads, value {}") ||
        !heads_divide(d[0].at[2], d[1].at[2]) || !heads_divide(d[0].at[2], d[2].at[2]))
        return infer_fail(ctx, call, TNB_SHAPE, "query has %s heads, key %s, value %s",
                          tn_text(ctx, d[0].at[2]), tn_text(ctx, d[1].at[2]),
                          tn_text(ctx, d[2].at[2]));
    return infer_known(ctx, call, tn_list_with(ctx, d[0], 3, d[2].at[3]), dtype);
}

static const tn_expr *
op1(tn_builder *b, const char *op, const tn_node *attrs, const tn_expr *x)
{
    return tn_emit(b, tn_call_opv(tn_builder_ctx(b), op, attrs, x, NULL), "lv");
}

static const tn_expr *
op2(tn_builder *b, const char *op, const tn_expr *x, const tn_expr *y)
{
    return tn_emit(b, tn_call_opv(tn_builder_ctx(b), op, NULL, x, y, NULL), "lv");
}

static const tn_expr *
permuted(tn_builder *b, const tn_expr *x, int64_t i, int64_t j, int64_t k, int64_t l)
{
    int64_t axes[4] = {i, j, k, l};
    tn_ctx *ctx = tn_builder_ctx(b);
    return op1(b, "permute_dims", tn_dictv(ctx, "axes", tn_int_array(ctx, axes, 4), NULL), x);
}

/* Key or value (argument `which`) with the extents of query and key that it has to have: the program has checked them. */
static const tn_expr *
agreeing(tn_builder *b, const tn_call *call, uint32_t which)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_expr *x = call->args.at[which];
    tn_list dims = emit_dims(x), q = emit_dims(call->args.at[0]), k = emit_dims(call->args.at[1]);
    const tn_expr *want[4] = {q.at[0], k.at[1], dims.at[2], which == 1 ? q.at[3] : dims.at[3]};
    bool same = true;
    for (uint32_t i = 0; i < 4; i++)
        same &= tn_prove_equal(ctx, dims.at[i], want[i]);
    tn_list to = tn_list_of(ctx, want, 4);
    return same
               ? x
               : tn_emit_match_cast(b, x, tn_ty_tensor_dims(ctx, to, tn_type_dtype(x->type)), "lv");
}

/* Heads of key and value repeated to those of the query, a multiple of them. */
static const tn_expr *
repeated_heads(tn_builder *b, const tn_call *call, uint32_t which)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_expr *x = agreeing(b, call, which), *heads = emit_dims(call->args.at[0]).at[2];
    tn_list dims = emit_dims(x);
    int64_t h, own;
    if (tn_prove_equal(ctx, heads, dims.at[2]))
        return x;
    if (tn_int_value(heads, &h) && tn_int_value(dims.at[2], &own))
        return op1(b, "repeat",
                   tn_dictv(ctx, "repeats", tn_i64(ctx, h / own), "axis", tn_i64(ctx, 2), NULL), x);
    emit e = emit_begin(b, call);
    const tn_node *in = emit_input(&e, x);
    const tn_expr *out[4], *at[4], *sharing;
    for (uint32_t i = 0; i < 4; i++)
        out[i] = i == 2 ? tnk_te_expr(e.te, heads) : emit_dim(in, i);
    sharing = emit_floordiv(ctx, out[2], emit_dim(in, 2));
    tnk_stage *s = tnk_te_stage(e.te, "T_repeat", out, 4, emit_dtype(in));
    for (uint32_t i = 0; i < 4; i++)
        at[i] = i == 2 ? emit_floordiv(ctx, s->axes[i], sharing) : s->axes[i];
    return tn_emit(b, emit_end(&e, "repeat", tnk_te_define(s, tnk_te_read_at(e.te, in, at, 4))),
                   "lv");
}

/* Scores times the attribute 'scale', or divided by the root of the head size. */
static const tn_expr *
scaled(tn_builder *b, const tn_call *call, const tn_expr *scores)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_expr *size = emit_dims(call->args.at[0]).at[3];
    tnb_dtype d = tn_type_dtype(scores->type), wide = d.bits < 32 ? TNB_F32 : d;
    const tn_node *given = tn_call_attr(call, "scale");
    int64_t head;
    if (given || tn_int_value(size, &head)) {
        double scale = given ? tn_call_float(call, "scale") : 1 / sqrt((double)head);
        return op2(b, "multiply", scores, tn_scalar_constant(ctx, d, scale));
    }
    emit e = emit_begin(b, call);
    const tn_node *x = emit_input(&e, scores);
    const tn_expr *root =
        tn_intrin1(ctx, TN_INTRIN_sqrt, tn_cast_to(ctx, wide, tnk_te_expr(e.te, size)));
    tnk_stage *s = tnk_te_stage_like(e.te, "T_attention_scale", x, d);
    const tn_expr *v = tn_mul(ctx, tnk_te_read_at(e.te, x, s->axes, 4),
                              tn_cast_to(ctx, d, tn_div(ctx, tn_literal(ctx, wide, 1), root)));
    return tn_emit(b, emit_end(&e, "attention_scale", tnk_te_define(s, v)), "lv");
}

/* Scores [b, h, i, j] where position i may not look at j become -infinity. */
static const tn_expr *
masked(tn_builder *b, const tn_call *call, const tn_expr *scores)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const char *mask = tn_call_attr(call, "causal_mask") ? tn_call_str(call, "causal_mask") : NULL;
    const tn_node *window = tn_call_attr(call, "window_size");
    if (!mask && !window)
        return scores;
    emit e = emit_begin(b, call);
    const tn_node *x = emit_input(&e, scores);
    tnb_dtype d = emit_dtype(x);
    tnk_stage *s = tnk_te_stage_like(e.te, "T_attention_mask", x, d);
    const tn_expr *i = s->axes[2], *j = s->axes[3], *seen = tn_bool(ctx, true);
    if (!mask || !strcmp(mask, "BottomRight"))
        i = tn_add(ctx, i, tn_sub(ctx, emit_dim(x, 3), emit_dim(x, 2)));
    if (mask)
        seen = tn_and_of(ctx, seen, tn_le_of(ctx, j, i));
    if (window)
        seen = tn_and_of(ctx, seen,
                         tn_lt_of(ctx, tn_sub(ctx, i, j),
                                  tn_i64(ctx, tn_call_int(call, "window_size"))));
    const tn_expr *v = tn_select_of(ctx, seen, tnk_te_read_at(e.te, x, s->axes, 4),
                                    tn_float_imm_of(ctx, d, -INFINITY));
    return tn_emit(b, emit_end(&e, "attention_mask", tnk_te_define(s, v)), "lv");
}

/* Which sequence each of n places belongs to: starts at or before it, less one. */
static const tn_expr *
sequence_of(tn_builder *b, const tn_expr *n, const tn_expr *starts)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_node *dtype =
        tn_dictv(ctx, "dtype", tn_dtype_imm_of(ctx, tn_type_dtype(starts->type)), NULL);
    const tn_expr *places =
        tn_emit(b, tn_call_opv(ctx, "arange", dtype, tn_i64(ctx, 0), n, tn_i64(ctx, 1), NULL),
                "lv");
    const tn_node *right = tn_dictv(ctx, "right", tn_bool(ctx, true), NULL);
    return tn_emit(b, tn_call_opv(ctx, "bucketize", right, places, starts, NULL), "lv");
}

/* Elements [b, h, i, j] where j is not in the sequence that i belongs to, or i may not look at j,
 * become `hidden`. */
static const tn_expr *
masked_by_sequence(tn_builder *b, const tn_call *call, const tn_expr *scores, double hidden)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const char *mask = tn_call_attr(call, "causal_mask") ? tn_call_str(call, "causal_mask") : NULL;
    const tn_expr *sequence = sequence_of(b, emit_dims(scores).at[2], call->args.at[3]);
    emit e = emit_begin(b, call);
    const tn_node *x = emit_input(&e, scores), *seq = emit_input(&e, sequence), *starts[2];
    tnb_dtype d = emit_dtype(x);
    for (int k = 0; k < 2; k++)
        starts[k] = emit_input(&e, call->args.at[3 + k]);
    tnk_stage *s = tnk_te_stage_like(e.te, "T_attention_mask", x, d);
    const tn_expr *count = emit_dim(starts[0], 0), *at[2], *length[2];
    const tn_expr *own = emit_index(ctx, tnk_te_read(e.te, seq, s->axes[2], NULL), NULL);
    const tn_expr *q = tn_max(ctx, tn_min(ctx, own, tn_subi(ctx, count, 1)),
                              tn_i64(ctx, 1)); /* behind its start */
    for (int k = 0; k < 2; k++) {
        const tn_expr *from =
            emit_index(ctx, tnk_te_read(e.te, starts[k], tn_subi(ctx, q, 1), NULL), NULL);
        length[k] = tn_sub(ctx, emit_index(ctx, tnk_te_read(e.te, starts[k], q, NULL), NULL), from);
        at[k] = tn_sub(ctx, s->axes[2 + k], from);
    }
    const tn_expr *seen = emit_inside(ctx, at[1], length[1]);
    seen = tn_and_of(ctx,
                     tn_and_of(ctx, tn_gt_of(ctx, own, tn_i64(ctx, 0)), tn_lt_of(ctx, own, count)),
                     seen);
    if (!mask || !strcmp(mask, "BottomRight"))
        at[0] = tn_add(ctx, at[0], tn_sub(ctx, length[1], length[0]));
    if (mask)
        seen = tn_and_of(ctx, seen, tn_le_of(ctx, at[1], at[0]));
    if (tn_call_attr(call, "window_size"))
        seen = tn_and_of(ctx, seen,
                         tn_lt_of(ctx, tn_sub(ctx, at[0], at[1]),
                                  tn_i64(ctx, tn_call_int(call, "window_size"))));
    const tn_expr *v = tn_select_of(ctx, seen, tnk_te_read_at(e.te, x, s->axes, 4),
                                    tn_float_imm_of(ctx, d, hidden));
    return tn_emit(b, emit_end(&e, "attention_mask", tnk_te_define(s, v)), "lv");
}

/* The bias, broadcast first where its extents alone do not say how. */
static const tn_expr *
spread_bias(tn_builder *b, const tn_expr *bias, const tn_expr *scores)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    tn_list dims = emit_dims(bias), to = emit_dims(scores);
    bool decided = true;
    for (uint32_t i = 0; i < dims.n && decided; i++) {
        const tn_expr *from = dims.at[i];
        decided = tn_is_int_const(from, 1) || tn_prove_equal(ctx, from, to.at[to.n - dims.n + i]);
    }
    return decided ? bias : op2(b, "broadcast_to", bias, tn_shape_expr_of(ctx, to));
}

const tn_expr *
legalize_attention(tn_builder *b, const tn_call *call)
{
    const tn_expr *q = permuted(b, call->args.at[0], 0, 2, 1, 3);
    const tn_expr *k = permuted(b, repeated_heads(b, call, 1), 0, 2, 3, 1);
    const tn_expr *v = permuted(b, repeated_heads(b, call, 2), 0, 2, 1, 3);
    const tn_expr *scores = scaled(b, call, op2(b, "matmul", q, k));
    bool var_len = is_var_len(call);
    if (!var_len && infer_arg(call, 3))
        scores = op2(b, "add", scores, spread_bias(b, call->args.at[3], scores));
    scores = var_len ? masked_by_sequence(b, call, scores, -INFINITY) : masked(b, call, scores);
    const tn_expr *weights = op1(b, "nn.softmax", NULL, scores);
    if (var_len) /* a query that sees no key gives 0 */
        weights = masked_by_sequence(b, call, weights, 0);
    return permuted(b, op2(b, "matmul", weights, v), 0, 2, 1, 3);
}
