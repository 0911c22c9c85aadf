/* SPDX-License-Identifier: Apache-2.0 */
/* einsum and determinants. */
#include "emit.h"

/* ---- einsum ---- */

enum { MAX_OPERANDS = 16, ELLIPSIS = '.' };

/* The labels of an operand or of the result: letters, and those of axes under "..." as bytes from
 * 128 on, counted from the last. */
typedef struct labels {
    unsigned char at[INFER_MAX_DIMS];
    uint32_t n;
} labels;

typedef struct einsum {
    uint32_t n;
    labels in[MAX_OPERANDS], out;
    const tn_expr *extent[256];
    unsigned char summed[256];
    uint32_t n_summed;
} einsum;

/* Reads the labels of one term. `rank`: of the operand, or -1: of the result, where "..." stands
 * for `dots` axes. */
static bool
read_term(const char *s, const char *end, int64_t rank, uint32_t dots, labels *out,
          uint32_t *own_dots)
{
    uint32_t letters = 0;
    bool has_dots = false;
    out->n = 0;
    for (const char *p = s; p < end; p++)
        letters += *p != ' ' && *p != '.';
    if (letters > INFER_MAX_DIMS || (rank >= 0 && letters > rank))
        return false;
    for (const char *p = s; p < end; p++) {
        if (*p == ' ')
            continue;
        if (*p == '.') {
            if (has_dots || end - p < 3 || p[1] != '.' || p[2] != '.')
                return false;
            has_dots = true;
            p += 2;
            uint32_t n = rank >= 0 ? (uint32_t)rank - letters : dots;
            if (out->n + n > INFER_MAX_DIMS)
                return false;
            for (uint32_t i = 0; i < n; i++)
                out->at[out->n++] = (unsigned char)(128 + n - 1 - i);
            *own_dots = n;
            continue;
        }
        if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z')))
            return false;
        out->at[out->n++] = (unsigned char)*p;
    }
    return rank < 0 || has_dots || out->n == rank;
}

/* The result's labels where "->" is missing: the broadcast axes, then letters that occur once, in
 * alphabetical order. */
static void
implied_result(einsum *e, uint32_t dots)
{
    int count[256] = {0};
    for (uint32_t i = 0; i < e->n; i++) {
        for (uint32_t k = 0; k < e->in[i].n; k++)
            count[e->in[i].at[k]]++;
    }
    for (uint32_t i = dots; i-- > 0;)
        e->out.at[e->out.n++] = (unsigned char)(128 + i);
    for (int c = 'A'; c <= 'z'; c++) {
        if (count[c] == 1 && e->out.n < INFER_MAX_DIMS)
            e->out.at[e->out.n++] = (unsigned char)c;
    }
}

static bool
read_einsum(tn_ctx *ctx, const tn_call *call, tn_list fields, einsum *e)
{
    const char *text = tn_call_str(call, "subscripts"), *arrow = strstr(text, "->"), *s = text;
    const char *end = arrow ? arrow : text + strlen(text);
    uint32_t dots = 0, own;
    tn_list dims;
    memset(e, 0, sizeof *e);
    for (;;) {
        const char *comma = memchr(s, ',', (size_t)(end - s)), *stop = comma ? comma : end;
        own = 0;
        if (e->n == MAX_OPERANDS || e->n >= fields.n || !tn_type_dims(fields.at[e->n], &dims) ||
            !read_term(s, stop, dims.n, 0, &e->in[e->n], &own)) {
            infer_fail(ctx, call, TNB_INVALID,
                       "attribute 'subscripts' is \"%s\", which does not fit the %u operands", text,
                       fields.n);
            return false;
        }
        dots = own > dots ? own : dots;
        for (uint32_t k = 0; k < dims.n; k++) {
            const tn_expr **d = &e->extent[e->in[e->n].at[k]];
            const tn_expr *before = *d;
            for (uint32_t i = 0; i < k; i++) /* a diagonal is not broadcast */
                if (e->in[e->n].at[i] == e->in[e->n].at[k] &&
                    dim_differ(ctx, dims.at[i], dims.at[k],
                               "a label of one operand has extents {} and {}")) {
                    infer_fail(ctx, call, TNB_SHAPE, "a label of one operand has extents %s and %s",
                               tn_text(ctx, dims.at[i]), tn_text(ctx, dims.at[k]));
                    return false;
                }
            *d = before ? tn_broadcast_dim(ctx, before, dims.at[k], dims.n - k) : dims.at[k];
            if (!*d) {
                infer_fail(ctx, call, TNB_SHAPE, "label '%c' has extents %s and %s",
                           e->in[e->n].at[k] < 128 ? e->in[e->n].at[k] : ELLIPSIS,
                           tn_text(ctx, before), tn_text(ctx, dims.at[k]));
                return false;
            }
        }
        e->n++;
        if (!comma)
            break;
        s = comma + 1;
    }
    bool used[256] = {false};
    bool ok = e->n == fields.n;
    if (ok && arrow)
        ok = read_term(arrow + 2, arrow + strlen(arrow), -1, dots, &e->out, &own);
    else if (ok)
        implied_result(e, dots);
    for (uint32_t i = 0; ok && i < e->out.n; i++) {
        ok = e->extent[e->out.at[i]] && !used[e->out.at[i]];
        used[e->out.at[i]] = true;
    }
    if (!ok) {
        infer_fail(ctx, call, TNB_INVALID,
                   "attribute 'subscripts' is \"%s\", which does not fit the %u operands", text,
                   fields.n);
        return false;
    }
    for (int c = 0; c < 256; c++) {
        if (e->extent[c] && !used[c])
            e->summed[e->n_summed++] = (unsigned char)c;
    }
    return true;
}

const tn_type *
infer_einsum(tn_ctx *ctx, const tn_call *call)
{
    tn_list fields, dims;
    einsum e;
    tnb_dtype d = TNB_VOID;
    const tn_node *out[INFER_MAX_DIMS];
    if (!infer_tensors(ctx, call, 0, &fields))
        return tn_error_node(ctx);
    if (fields.n == 0)
        return infer_fail(ctx, call, TNB_INVALID, "at least one operand is needed");
    for (uint32_t i = 0; i < fields.n; i++) {
        if (i == 0)
            d = tn_type_dtype(fields.at[0]);
        else if (!infer_same_dtype(ctx, call, d, tn_type_dtype(fields.at[i]), &d))
            return tn_error_node(ctx);
    }
    for (uint32_t i = 0; i < fields.n; i++) {
        if (!tn_type_dims(fields.at[i], &dims))
            return infer_rank(ctx, call, -1, d);
    }
    if (!read_einsum(ctx, call, fields, &e))
        return tn_error_node(ctx);
    for (uint32_t i = 0; i < e.out.n; i++)
        out[i] = e.extent[e.out.at[i]];
    return infer_known(ctx, call, tn_list_of(ctx, out, e.out.n), d);
}

const tn_expr *
legalize_einsum(tn_builder *b, const tn_call *call)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_tuple *t = tn_as_tuple(call->args.at[0]);
    tn_list fields;
    einsum es;
    if (!t && tn_is_var(call->args.at[0]))
        t = tn_as_tuple(tn_builder_find_value(b, call->args.at[0]));
    if (!t || !infer_tensors(ctx, call, 0, &fields) || !read_einsum(ctx, call, fields, &es))
        return NULL;
    emit e = emit_begin(b, call);
    tnb_dtype d = tn_type_dtype(call->base.type), wide = emit_wide(d);
    const tn_node *in[MAX_OPERANDS];
    for (uint32_t i = 0; i < es.n; i++)
        in[i] = emit_input(&e, t->fields.at[i]);
    tnk_stage *s = emit_stage_of(&e, "T_einsum", call->base.type, wide);
    const tn_expr *axis[256] = {NULL}, *product = NULL, *idx[INFER_MAX_DIMS];
    for (uint32_t i = 0; i < es.out.n; i++)
        axis[es.out.at[i]] = s->axes[i];
    for (uint32_t i = 0; i < es.n_summed; i++)
        axis[es.summed[i]] =
            tnk_te_reduce_axis(s, tnb_printf(tn_scratch(ctx), "k%u", i), es.extent[es.summed[i]]);
    for (uint32_t i = 0; i < es.n; i++) {
        for (uint32_t k = 0; k < es.in[i].n; k++) {
            unsigned char label = es.in[i].at[k];
            idx[k] = emit_stretched(&e, emit_dim(in[i], k), es.extent[label], axis[label]);
        }
        const tn_expr *v = tn_cast_to(ctx, wide, tnk_te_read_at(e.te, in[i], idx, es.in[i].n));
        product = product ? tn_mul(ctx, product, v) : v;
    }
    const tn_node *out = es.n_summed ? tnk_te_sum(s, product) : tnk_te_define(s, product);
    if (!tnb_dtype_eq(wide, d)) {
        s = emit_stage(&e, "T_cast");
        out = tnk_te_define(s, tn_cast_to(ctx, d, tnk_te_read_at(e.te, out, s->axes, s->n_axes)));
    }
    return emit_end(&e, "einsum", out);
}

/* ---- determinants ---- */

const tn_type *
infer_det(tn_ctx *ctx, const tn_call *call)
{
    const tn_ty_tensor *t = infer_tensor(ctx, call, 0);
    tn_list dims;
    if (!t)
        return tn_error_node(ctx);
    if (!tnb_dtype_is_void(t->dtype) && !tnb_dtype_is_float(t->dtype))
        return infer_fail(ctx, call, TNB_TYPE, "the operand must be of a float type, but is of %s",
                          tnb_dtype_print(t->dtype).s);
    if (t->ndim >= 0 && t->ndim < 2)
        return infer_fail(ctx, call, TNB_SHAPE,
                          "the operand must have at least two axes, but has %lld",
                          (long long)t->ndim);
    if (!tn_type_dims(TN_NODE(t), &dims))
        return infer_rank(ctx, call, t->ndim < 0 ? -1 : t->ndim - 2, t->dtype);
    if (dim_differ(ctx, dims.at[dims.n - 2], dims.at[dims.n - 1],
                   "matrices must be square, but are {} x {}"))
        return infer_fail(ctx, call, TNB_SHAPE, "matrices must be square, but are %s x %s",
                          tn_text(ctx, dims.at[dims.n - 2]), tn_text(ctx, dims.at[dims.n - 1]));
    return infer_known(ctx, call, tn_list_of(ctx, dims.at, dims.n - 2), t->dtype);
}

typedef struct elimination {
    emit e;
    const tn_node *work, *best, *out;
    const tn_expr *n;
    tn_list place; /* of the determinant in `out` */
} elimination;

static const tn_expr *
entry(elimination *g, const tn_expr *i, const tn_expr *j)
{
    return tnk_te_read(g->e.te, g->work, i, j, NULL);
}

static const tn_stmt *
set_entry(elimination *g, const tn_expr *i, const tn_expr *j, const tn_expr *v)
{
    return tn_buffer_store_of(g->e.ctx, g->work, v, tn_listv(g->e.ctx, i, j, NULL));
}

static const tn_stmt *
multiply_result(elimination *g, const tn_expr *v)
{
    tn_ctx *ctx = g->e.ctx;
    return tn_buffer_store_of(ctx, g->out, tn_mul(ctx, tn_buffer_load_of(ctx, g->out, g->place), v),
                              g->place);
}

/* Swaps rows c and best[0] and turns the sign. */
static const tn_stmt *
swap_rows(elimination *g, const tn_expr *c)
{
    tn_ctx *ctx = g->e.ctx;
    const tn_expr *k = tn_var_dtype(ctx, "k", TNB_I64),
                  *p = tnk_te_read(g->e.te, g->best, tn_i64(ctx, 0), NULL);
    tnb_dtype d = emit_dtype(g->work);
    const tn_expr *held = tn_var_dtype(ctx, "held", d);
    const tn_stmt *swap =
        tn_seqv(ctx, tn_bind_of(ctx, held, entry(g, c, k)), set_entry(g, c, k, entry(g, p, k)),
                set_entry(g, p, k, held), NULL);
    return tn_if_stmt_of(ctx, tn_ne_of(ctx, p, c),
                         tn_seqv(ctx, emit_loops(ctx, &k, &g->n, 1, swap),
                                 multiply_result(g, tn_literal(ctx, emit_dtype(g->out), -1)), NULL),
                         NULL);
}

/* Column c: the row with the largest entry comes up, then the rows below lose theirs. */
static const tn_stmt *
eliminate_column(elimination *g, const tn_expr *c)
{
    tn_ctx *ctx = g->e.ctx;
    tnb_dtype d = emit_dtype(g->work);
    tn_list zero = tn_listv(ctx, tn_i64(ctx, 0), NULL);
    const tn_expr *below = tn_subi(ctx, tn_sub(ctx, g->n, c), 1),
                  *r = tn_var_dtype(ctx, "r", TNB_I64), *row = tn_add(ctx, tn_addi(ctx, c, 1), r);
    const tn_expr *p = tnk_te_read(g->e.te, g->best, tn_i64(ctx, 0), NULL);
    const tn_expr *candidate = entry(g, row, c);
    const tn_expr *larger = tn_gt_of(ctx, tn_intrin1(ctx, TN_INTRIN_fabs, candidate),
                                     tn_intrin1(ctx, TN_INTRIN_fabs, entry(g, p, c)));
    /* NaN is the pivot, and so the determinant's factor */
    larger = tn_or_of(ctx, larger, tn_ne_of(ctx, candidate, candidate));
    const tn_stmt *search =
        tn_if_stmt_of(ctx, larger, tn_buffer_store_of(ctx, g->best, row, zero), NULL);
    const tn_expr *r2 = tn_var_dtype(ctx, "r", TNB_I64),
                  *row2 = tn_add(ctx, tn_addi(ctx, c, 1), r2), *k = tn_var_dtype(ctx, "k", TNB_I64);
    const tn_expr *pivot = entry(g, c, c), *times = tn_var_dtype(ctx, "times", d);
    const tn_stmt *take =
        set_entry(g, row2, k, tn_sub(ctx, entry(g, row2, k), tn_mul(ctx, times, entry(g, c, k))));
    const tn_stmt *clear =
        tn_seqv(ctx, tn_bind_of(ctx, times, tn_div(ctx, entry(g, row2, c), pivot)),
                emit_loops(ctx, &k, &g->n, 1, take), NULL);
    const tn_stmt *rest = tn_if_stmt_of(ctx, tn_ne_of(ctx, pivot, tn_literal(ctx, d, 0)),
                                        emit_loops(ctx, &r2, &below, 1, clear), NULL);
    return tn_seqv(ctx, tn_buffer_store_of(ctx, g->best, c, zero),
                   emit_loops(ctx, &r, &below, 1, search), swap_rows(g, c),
                   multiply_result(g, tn_cast_to(ctx, emit_dtype(g->out), pivot)), rest, NULL);
}

const tn_expr *
legalize_det(tn_builder *b, const tn_call *call)
{
    elimination g = {.e = emit_begin(b, call)};
    tn_ctx *ctx = g.e.ctx;
    const tn_node *x = emit_input(&g.e, call->args.at[0]);
    uint32_t n = emit_ndim(x), batch = n - 2;
    if (n > INFER_MAX_DIMS)
        return NULL;
    tnb_dtype d = emit_dtype(x), wide = emit_wide(d);
    g.n = emit_dim(x, n - 1);
    const tn_expr *square[2] = {g.n, g.n}, *one = tn_i64(ctx, 1), *vars[INFER_MAX_DIMS],
                  *extents[INFER_MAX_DIMS], *c = tn_var_dtype(ctx, "c", TNB_I64);
    g.out = tnk_te_buffer(g.e.te, "T_det", tn_as_buffer(x)->shape.at, batch, d);
    g.work = tnk_te_buffer(g.e.te, "work", square, 2, wide);
    g.best = tnk_te_buffer(g.e.te, "best", &one, 1, TNB_I64);
    emit_loop_vars(ctx, vars, n);
    for (uint32_t i = 0; i < n; i++)
        extents[i] = emit_dim(x, i);
    g.place = tn_list_of(ctx, vars, batch);
    const tn_stmt *copy = set_entry(&g, vars[n - 2], vars[n - 1],
                                    tn_cast_to(ctx, wide, tnk_te_read_at(g.e.te, x, vars, n)));
    const tn_stmt *body = tn_seqv(ctx, emit_loops(ctx, vars + batch, extents + batch, 2, copy),
                                  tn_buffer_store_of(ctx, g.out, tn_literal(ctx, d, 1), g.place),
                                  emit_loops(ctx, &c, &g.n, 1, eliminate_column(&g, c)), NULL);
    const tn_node *outs[3] = {g.out, g.work, g.best};
    tnk_te_extern(g.e.te, "det", &x, 1, outs, 3, emit_loops(ctx, vars, extents, batch, body));
    return emit_end(&g.e, "det", g.out);
}
