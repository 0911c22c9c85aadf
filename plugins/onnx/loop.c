/* SPDX-License-Identifier: Apache-2.0 */
/* Loops as private functions that call themselves last: Loop and Scan of any length.
 *
 *     for i in range(n), while cond:           def loop(i, n, cond, v, acc, w):
 *         v, cond, y = body(i, v, w)               if i < n:
 *         collect y                        =>          if cond:
 *                                                          v2, cond2, y = body(i, v, w)
 *                                                          acc2 = y put into row i of acc, in place
 *                                                          r = loop(i + 1, n, cond2, v2, acc2, w)
 *                                                  else: r = (v, acc)
 *                                                  return r
 *
 * The counter, the count and the symbolic extents around are scalar parameters; so are carried
 * integers as long as the body computes them from known elements, so that shapes may depend on
 * them. The body is imported until nothing changes: an extent of a carried tensor that a turn
 * changes gets a name of its own, bound anew by each call. Where the count is not known before the
 * loop ends, the collected results grow by doubling.
 */
#include <inttypes.h>
#include "subgraph.h"

#include "tenon/core/walk.h"
#include "tenon/kit/te.h"
#include "loop.h"
#include "terms.h"

enum { MAX_SCALARS = 8, FIRST_ROWS = 16, MAX_ATTEMPTS = 64 };

enum { COND_ALWAYS, COND_SCALAR, COND_TENSOR };

/* A value from one turn to the next. */
typedef struct carry {
    onnx_value *start;
    bool scalars;   /* integers that are scalar parameters */
    bool with_sign; /* each as two: scalar parameters are never negative */
    int64_t rank;
    tnb_dtype dtype;
    bool varies[ONNX_MAX_DIMS];
    /* of the attempt at hand */
    const tn_expr *param, *scalar[MAX_SCALARS], *parts[2 * MAX_SCALARS];
    const tn_node *dims[ONNX_MAX_DIMS]; /* inside */
    onnx_value *next;
    const tn_expr *out;
} carry;

/* Collected results. */
typedef struct rows {
    const onnx_loop_rows *how;
    const tn_expr *y; /* of one turn */
    const tn_expr *param, *capacity;
    tn_list dims; /* of y, inside */
} rows;

typedef struct loop {
    onnx_node *n;
    const onnx_loop *l;
    onnx_function f;
    carry *carries;
    rows *rows;
    const tn_expr *i, *count, *cond; /* parameters; count: or a number; NULL: none */
    int cond_kind;
    const tn_expr *cond_out;
    tn_list own; /* scalar parameters for i, count, cond */
} loop;

/* ---- carried values ---- */

/* Small known integers begin as scalars. */
static void
start_carry(loop *p, carry *c, onnx_value *v)
{
    c->start = v;
    c->scalars = onnx_value_known(p->n, v) && v->n_elems <= MAX_SCALARS && v->n_elems > 0 &&
                 tnb_dtype_is_int(v->dtype);
    c->rank = v->ndim;
    c->dtype = v->dtype;
}

const void *
onnx_loop_key(const onnx_node *n)
{
    uintptr_t key = (uintptr_t)n->proto;
    for (const onnx_scope *s = n->scope; s; s = s->outer)
        if (s->call)
            key = key * 31 + (uintptr_t)s->call->proto;
    return (const void *)(key | 1);
}

/* What attempts found of a loop's carried values. Within another loop, which takes attempts itself, the next import of this
 * one begins with that: attempts add up with the depth of loops, and do not multiply. */
struct onnx_settled {
    uint32_t n;
    struct {
        bool scalars, with_sign, varies[ONNX_MAX_DIMS];
        int64_t rank;
    } at[];
};

static const struct onnx_settled *
settled_before(const loop *p)
{
    const struct onnx_settled *s = tnb_ptrmap_get(&p->n->imp->settled, onnx_loop_key(p->n));
    return s && s->n == p->l->n_carries ? s : NULL;
}

static void
keep_settled(loop *p)
{
    uint32_t n = p->l->n_carries;
    struct onnx_settled *s = tnb_alloc(p->n->imp->arena, sizeof *s + n * sizeof s->at[0]);
    s->n = n;
    for (uint32_t k = 0; k < n; k++) {
        const carry *c = &p->carries[k];
        s->at[k].scalars = c->scalars;
        s->at[k].with_sign = c->with_sign;
        s->at[k].rank = c->rank;
        memcpy(s->at[k].varies, c->varies, sizeof c->varies);
    }
    tnb_ptrmap_set(&p->n->imp->settled, onnx_loop_key(p->n), s);
}

/* Before an attempt, outside: the start as a tensor, if it is one. */
static bool
prepare_carry(loop *p, carry *c, uint32_t index)
{
    onnx_node *n = p->n;
    tn_list dims;
    if (c->scalars)
        return true;
    const tn_expr *e = onnx_value_expr(n, c->start);
    if (tn_is_error(e))
        return false;
    c->rank = onnx_rank(n, e);
    c->dtype = onnx_dtype(e);
    if (c->rank < 0 || c->rank > ONNX_MAX_DIMS || !tn_type_dims(e->type, &dims))
        return onnx_unknown(n, tn_strf(n->ctx, "the shape of carried value %u ('%s') has", index,
                                       c->start->name));
    return true;
}

/* The parameter of a carried value, as a value of the region. */
static onnx_value *
carry_param(loop *p, carry *c, uint32_t index)
{
    onnx_node *n = p->n;
    tn_ctx *ctx = n->ctx;
    onnx_value *v = onnx_value_new(n->imp, c->start->name), **dep;
    dep = TNB_NEW(n->imp->arena, onnx_value *);
    *dep = c->start;
    v->deps = dep;
    v->n_deps = 1;
    if (c->scalars) {
        v->n_elems = c->start->n_elems;
        const tn_expr **e = TNB_NEW_N(n->imp->arena, const tn_expr *, v->n_elems + 1);
        for (uint32_t i = 0; i < v->n_elems; i++) {
            const tn_expr *s = tn_var_dtype(ctx, tn_strf(ctx, "s%u_%u", index, i), TNB_I64),
                          *negative = tn_var_dtype(ctx, tn_strf(ctx, "n%u_%u", index, i), TNB_I64);
            e[i] = c->scalar[i] = c->with_sign ? onnx_term_join(ctx, s, negative) : s;
            c->parts[2 * i] = s;
            c->parts[2 * i + 1] = negative;
            if (c->with_sign) {
                onnx_note_signed(n->imp, s);
                onnx_note_signed(n->imp, negative);
            }
        }
        v->elems = e;
        v->has_elems = true;
        v->dtype = c->dtype;
        v->ndim = (int32_t)c->rank;
        memcpy(v->dims, c->start->dims, sizeof v->dims);
        return v;
    }
    tn_list outer = {0};
    if (!tn_type_dims(c->start->expr->type, &outer))
        return v;
    for (int64_t i = 0; i < c->rank; i++)
        c->dims[i] = c->varies[i]
                         ? tn_var_dtype(ctx, tn_strf(ctx, "d%u_%" PRId64, index, i), TNB_I64)
                         : onnx_to_inside(&p->f, outer.at[i]);
    tn_list dims = tn_list_of(ctx, c->dims, (uint32_t)c->rank);
    v->expr = c->param =
        tn_var_new(ctx, tn_strf(ctx, "carried%u", index), tn_ty_tensor_dims(ctx, dims, c->dtype));
    return v;
}

/* Compares what a turn makes of a carried value with its parameter. *again: the attempt was made on
 * wrong assumptions. False after an error. */
static bool
check_carry(loop *p, carry *c, uint32_t index, bool *again)
{
    onnx_node *n = p->n;
    tn_list dims;
    if (c->scalars) {
        bool known = onnx_value_known(n, c->next) && c->next->n_elems == c->start->n_elems &&
                     c->next->ndim == c->rank && tnb_dtype_eq(c->next->dtype, c->dtype);
        bool negative = false;
        for (uint32_t i = 0; known && i < c->next->n_elems && !c->with_sign; i++)
            negative |= !onnx_term_nonneg(n->ctx, c->next->elems[i]) ||
                        !onnx_term_nonneg(n->ctx, c->start->elems[i]);
        c->scalars = known;
        c->with_sign |= negative;
        *again |= !known || negative;
        return true;
    }
    const tn_expr *e = onnx_value_expr(n, c->next);
    if (!tn_is_error(e) && !tn_type_dims(e->type, &dims) && onnx_rank(n, e) >= 0) {
        const tn_node *none[ONNX_MAX_DIMS] = {NULL};
        tn_list unknown = tn_list_of(n->ctx, none, (uint32_t)onnx_rank(n, e));
        c->next = onnx_value_new(n->imp, c->next->name);
        c->next->expr = e = onnx_name_extents(n, e, unknown);
    }
    if (tn_is_error(e) || !onnx_dims(n, e, &dims))
        return false;
    if (!tnb_dtype_eq(onnx_dtype(e), c->dtype) || dims.n != c->rank) {
        onnx_fail(n, TNB_TYPE,
                  "carried value %u ('%s') begins with the type %s, an iteration makes it %s",
                  index, c->start->name, onnx_type_text(n->imp, c->start->expr->type),
                  onnx_type_text(n->imp, e->type));
        onnx_note(n, "a carried value has to keep its element type, and its rank from the first "
                     "iteration on");
        onnx_hint(
            n,
            "let it begin with the type that iterations return, or make the number of iterations "
            "known: 16 at most are written out");
        if (p->l->changes_rank)
            *p->l->changes_rank = tnb_dtype_eq(onnx_dtype(e), c->dtype);
        return false;
    }
    tn_list kept = dims;
    for (uint32_t i = 0; i < dims.n; i++)
        if (!c->varies[i] && !tn_prove_equal(n->ctx, dims.at[i], c->dims[i])) {
            if (strcmp(n->op, "Scan") == 0 &&
                (!tn_is(dims.at[i], TN_KIND_INT_IMM) || !tn_is(c->dims[i], TN_KIND_INT_IMM)))
                kept = tn_list_with(n->ctx, kept, i, c->dims[i]); /* its states keep their shapes */
            else
                c->varies[i] = *again = true;
        }
    if (kept.at != dims.at) {
        c->next = onnx_value_new(n->imp, c->next->name);
        c->next->expr = onnx_name_extents(n, e, kept);
    }
    return true;
}

/* ---- collected results ---- */

static const tn_node *
rows_type(loop *p, const rows *r)
{
    tn_ctx *ctx = p->n->ctx;
    tn_list dims = tn_listv(ctx, r->capacity, NULL);
    for (uint32_t i = 0; i < r->dims.n; i++)
        dims = tn_list_append(ctx, dims, r->dims.at[i]);
    return tn_ty_tensor_dims(ctx, dims, onnx_dtype(r->y));
}

static bool
check_rows(loop *p, rows *r, uint32_t index)
{
    onnx_node *n = p->n;
    tn_list dims;
    if (tn_is_error(r->y) || !onnx_dims(n, r->y, &dims))
        return false;
    r->dims = (tn_list){0};
    for (uint32_t i = 0; i < dims.n; i++) {
        const tn_node *d = onnx_simplify(n, dims.at[i]);
        if (!onnx_to_outside(&p->f, d)) {
            onnx_fail(n, TNB_UNSUPPORTED,
                      "collected result %u has extent %s in axis %u, which is not the same in "
                      "every iteration",
                      index, onnx_dim_text(n->imp, d), i);
            onnx_hint(n, "results of iterations are stacked: they must have one shape");
            return false;
        }
        r->dims = tn_list_append(n->ctx, r->dims, d);
    }
    r->capacity = tn_var_dtype(n->ctx, tn_strf(n->ctx, "rows%u", index), TNB_I64);
    r->param = tn_var_new(n->ctx, tn_strf(n->ctx, "collected%u", index), rows_type(p, r));
    return true;
}

/* acc with y in row `at`, in place. */
static const tn_expr *
put_row(loop *p, const tn_expr *acc, const tn_expr *y, const tn_expr *at)
{
    tn_ctx *ctx = p->n->ctx;
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *to = tnk_te_input(te, "rows", acc->type),
                  *from = tnk_te_input(te, "row", y->type);
    const tn_expr *row = tnk_te_scalar(te, "at", TNB_I64), *idx[ONNX_MAX_DIMS + 1];
    if (tn_is_error(to) || tn_is_error(from))
        return tn_error_node(ctx);
    tn_list shape = tn_as_buffer(from)->shape;
    idx[0] = row;
    for (uint32_t i = 0; i < shape.n; i++)
        idx[1 + i] = tn_var_dtype(ctx, tn_strf(ctx, "i%u", i), TNB_I64);
    const tn_stmt *s = tn_buffer_store_of(ctx, to, tnk_te_read_at(te, from, idx + 1, shape.n),
                                          tn_list_of(ctx, idx, shape.n + 1));
    for (uint32_t i = shape.n; i-- > 0;)
        s = tn_for_of(ctx, idx[1 + i], tn_i64(ctx, 0), shape.at[i], TN_FOR_SERIAL, NULL, NULL, s);
    tnk_te_extern(te, "put_row", &from, 1, &to, 1, s);
    const tn_expr *args[3] = {acc, y, at};
    return tnk_te_call_inplace(te, p->n->imp->b, "put_row", args, 3, 0);
}

/* Twice the rows when there is none left. */
static const tn_expr *
grown(loop *p, rows *r)
{
    onnx_node *n = p->n;
    tn_ctx *ctx = n->ctx;
    tn_builder *b = n->imp->b;
    const tn_expr *seq[2];
    for (int k = 0; k < 2; k++) {
        tn_builder_begin_function(b, (tn_list){0});
        tn_builder_begin_block(b, false);
        const tn_expr *two[2] = {r->param, r->param}, *e = k ? onnx_concat(n, two, 2, 0) : r->param;
        tn_builder_end_block(b);
        const tn_expr *f = tn_builder_end_function(b, e, NULL, true, NULL);
        if (n->failed || tn_is_error(f)) {
            n->failed = true;
            return tn_error_node(ctx);
        }
        seq[k] = tn_as_function(f)->body;
    }
    const tn_expr *fits = tn_lt_of(ctx, p->i, r->capacity);
    const tn_expr *e = tn_emit(b, tn_if_expr_of(ctx, fits, seq[0], seq[1]), "rows");
    tn_list dims = tn_list_append(ctx, (tn_list){0}, NULL);
    for (uint32_t i = 0; i < r->dims.n; i++)
        dims = tn_list_append(ctx, dims, r->dims.at[i]);
    return onnx_name_extents(n, e, dims);
}

/* ---- the function ---- */

/* Counts that an outer value gives are parameters, numbers are not. */
static void
make_scalars(loop *p)
{
    tn_ctx *ctx = p->n->ctx;
    int64_t number;
    p->i = tn_var_dtype(ctx, "i", TNB_I64);
    p->own = tn_listv(ctx, p->i, NULL);
    p->count = p->l->count;
    if (p->count && !tn_int_value(p->count, &number)) {
        p->count = tn_var_dtype(ctx, "count", TNB_I64);
        p->own = tn_list_append(ctx, p->own, p->count);
    }
}

static tn_list
append_all(tn_ctx *ctx, tn_list a, tn_list b)
{
    for (uint32_t i = 0; i < b.n; i++)
        a = tn_list_append(ctx, a, b.at[i]);
    return a;
}

/* The parameter for a carried integer (e NULL), or its value: two of each if it may be negative. */
static tn_list
append_scalar(tn_ctx *ctx, tn_list a, const carry *c, uint32_t i, const tn_expr *e)
{
    const tn_expr *part[2] = {c->parts[2 * i], c->parts[2 * i + 1]};
    if (e) {
        part[0] = tn_cast_to(ctx, TNB_I64, e);
        if (c->with_sign)
            onnx_term_split(ctx, part[0], part);
    }
    a = tn_list_append(ctx, a, part[0]);
    return c->with_sign ? tn_list_append(ctx, a, part[1]) : a;
}

/* All parameters, or (turn) what the call of the next turn gives for them, or the first call. */
enum { PARAMS, NEXT_TURN, FIRST_CALL };

static tn_list
arguments(loop *p, int which, const tn_expr *const *accs)
{
    onnx_node *n = p->n;
    tn_ctx *ctx = n->ctx;
    const onnx_loop *l = p->l;
    tn_list a = {0};
    if (which == FIRST_CALL) {
        a = tn_listv(ctx, tn_i64(ctx, 0), NULL);
        if (p->own.n > 1)
            a = tn_list_append(ctx, a, l->count);
    } else {
        a = which == PARAMS ? p->own
                            : tn_list_with(ctx, p->own, 0, tn_add(ctx, p->i, tn_i64(ctx, 1)));
    }
    if (p->cond_kind != COND_ALWAYS)
        a = tn_list_append(ctx, a,
                           which == PARAMS      ? p->cond
                           : which == NEXT_TURN ? p->cond_out
                                                : l->cond_start(p->n, p->cond_kind == COND_TENSOR));
    a = append_all(ctx, a, which == FIRST_CALL ? p->f.symbol_args : p->f.symbols);
    for (uint32_t k = 0; k < l->n_carries; k++) {
        carry *c = &p->carries[k];
        if (!c->scalars) {
            a = tn_list_append(ctx, a,
                               which == PARAMS      ? c->param
                               : which == NEXT_TURN ? c->out
                                                    : onnx_value_expr(n, c->start));
            continue;
        }
        for (uint32_t i = 0; i < c->start->n_elems; i++)
            a = append_scalar(ctx, a, c, i,
                              which == PARAMS      ? NULL
                              : which == NEXT_TURN ? c->next->elems[i]
                                                   : c->start->elems[i]);
    }
    for (uint32_t k = 0; k < l->n_rows; k++)
        a = tn_list_append(ctx, a, which == PARAMS ? p->rows[k].param : accs[k]);
    return append_all(ctx, a, which == FIRST_CALL ? p->f.args : p->f.params);
}

/* What the loop gives: a field a carried value, then a field a collected result. */
static const tn_type *
result_type(loop *p)
{
    tn_ctx *ctx = p->n->ctx;
    tn_list fields = {0};
    for (uint32_t k = 0; k < p->l->n_carries; k++) {
        const carry *c = &p->carries[k];
        tn_list dims = {0};
        for (int64_t i = 0; i < c->rank; i++)
            dims = tn_list_append(ctx, dims,
                                  c->scalars     ? tn_i64(ctx, c->start->dims[i])
                                  : c->varies[i] ? NULL
                                                 : c->dims[i]);
        fields = tn_list_append(ctx, fields, onnx_type_of_dims(ctx, dims, c->dtype));
    }
    for (uint32_t k = 0; k < p->l->n_rows; k++) {
        const rows *r = &p->rows[k];
        fields = tn_list_append(ctx, fields,
                                p->cond_kind == COND_ALWAYS
                                    ? r->param->type
                                    : tn_ty_tensor_of(ctx, NULL, onnx_dtype(r->y),
                                                      (int64_t)r->dims.n + 1, NULL));
    }
    return tn_ty_tuple_of(ctx, fields);
}

/* The branch after the last turn. */
static const tn_expr *
exit_sequence(loop *p)
{
    onnx_node *n = p->n;
    tn_ctx *ctx = n->ctx;
    onnx_region r;
    tn_list fields = {0};
    onnx_region_begin(&r, &p->f);
    for (uint32_t k = 0; k < p->l->n_carries; k++) {
        const carry *c = &p->carries[k];
        const tn_expr *e = c->param;
        if (c->scalars) {
            e = onnx_elems_expr(n, c->scalar, c->start->n_elems, c->dtype, (int32_t)c->rank,
                                c->start->dims);
            e = n->failed ? e : tn_emit_output(n->imp->b, e, "gv");
        }
        fields = tn_list_append(ctx, fields, e);
    }
    for (uint32_t k = 0; k < p->l->n_rows; k++) {
        const tn_expr *e = p->rows[k].param;
        if (p->cond_kind != COND_ALWAYS) {
            const int64_t axis = 0;
            const tn_expr *zero = tn_i64(ctx, 0);
            e = onnx_slice(n, e, &axis, &zero, &p->i, NULL, 1);
            e = n->failed ? e : tn_emit_output(n->imp->b, e, "gv");
        }
        fields = tn_list_append(ctx, fields, e);
    }
    onnx_region_plain(&r);
    return onnx_region_end(&r, n->failed ? tn_error_node(ctx) : tn_tuple_of(ctx, fields));
}

/* The condition for the next turn as a scalar or a tensor without axes; sets cond_kind. */
static bool
check_cond(loop *p, onnx_region *r, onnx_value *cond)
{
    onnx_node *n = p->n;
    int64_t v;
    if (!cond || (onnx_value_known(n, cond) && cond->n_elems == 1 &&
                  tn_int_value(cond->elems[0], &v) && v)) {
        p->cond_out =
            p->cond_kind == COND_TENSOR ? onnx_scalar_int(n, TNB_B8, 1) : tn_i64(n->ctx, 1);
        return true;
    }
    if (p->cond_kind != COND_TENSOR && onnx_value_known(n, cond) && cond->n_elems == 1) {
        p->cond_kind = COND_SCALAR;
        p->cond_out = tn_cast_to(n->ctx, TNB_I64, cond->elems[0]);
        return true;
    }
    const tn_expr *e = onnx_value_expr(n, cond);
    if (!tn_is_error(e) && !tnb_dtype_is_bool(onnx_dtype(e)))
        return onnx_fail(n, TNB_TYPE, "the condition has the type %s, expected bool",
                         onnx_type_text(n->imp, e->type));
    p->cond_kind = COND_TENSOR;
    onnx_value *scalar = onnx_value_new(n->imp, cond->name);
    scalar->expr = onnx_rank(n, e) == 0 ? e : onnx_reshape(n, e, NULL, 0);
    p->cond_out = onnx_region_output(r, scalar);
    return !n->failed;
}

/* One attempt: the branch with a turn and the call of the next. NULL with *again, or after an
 * error. */
static const tn_expr *
turn_sequence(loop *p, bool *again)
{
    onnx_node *n = p->n;
    tn_ctx *ctx = n->ctx;
    const onnx_loop *l = p->l;
    onnx_region r;
    onnx_value **in = TNB_NEW_N(n->imp->arena, onnx_value *, l->n_carries + 1),
               **next = TNB_NEW_N(n->imp->arena, onnx_value *, l->n_carries + 1),
               **y = TNB_NEW_N(n->imp->arena, onnx_value *, l->n_rows + 1), *cond = NULL;
    const tn_expr **accs = TNB_NEW_N(n->imp->arena, const tn_expr *, l->n_rows + 1);
    make_scalars(p);
    onnx_region_begin(&r, &p->f);
    for (uint32_t k = 0; k < l->n_carries; k++)
        in[k] = carry_param(p, &p->carries[k], k);
    bool ok = !n->failed && l->body(l->user, &r, p->i, p->count, in, next, &cond, y);
    for (uint32_t k = 0; k < l->n_carries && ok; k++) {
        p->carries[k].next = next[k];
        ok = check_carry(p, &p->carries[k], k, again);
    }
    if (!ok || *again)
        goto given_up;
    ok = check_cond(p, &r, cond);
    for (uint32_t k = 0; k < l->n_carries && ok; k++)
        if (!p->carries[k].scalars)
            p->carries[k].out = onnx_region_output(&r, p->carries[k].next);
    for (uint32_t k = 0; k < l->n_rows && ok; k++) {
        p->rows[k].y = onnx_region_output(&r, y[k]);
        ok = check_rows(p, &p->rows[k], k);
    }
    if (!ok || n->failed)
        goto given_up;
    onnx_region_plain(&r);
    if (p->cond_kind == COND_SCALAR)
        p->cond = tn_var_dtype(ctx, "go_on", TNB_I64);
    else if (p->cond_kind == COND_TENSOR)
        p->cond = tn_var_new(ctx, "go_on", tn_ty_tensor_dims(ctx, (tn_list){0}, TNB_B8));
    for (uint32_t k = 0; k < l->n_rows && !n->failed; k++) {
        const tn_expr *acc = p->cond_kind == COND_ALWAYS ? p->rows[k].param : grown(p, &p->rows[k]),
                      *at = p->i;
        if (p->rows[k].how->reverse)
            at = tn_sub(ctx, tn_sub(ctx, p->count, tn_i64(ctx, 1)), p->i);
        accs[k] = tn_emit(n->imp->b, put_row(p, acc, p->rows[k].y, at), "rows");
        n->failed |= tn_is_error(accs[k]);
    }
    tn_list params = arguments(p, PARAMS, NULL);
    const tn_expr *call = n->failed ? tn_error_node(ctx)
                                    : tn_emit(n->imp->b,
                                              onnx_call_unmade(&p->f, params, result_type(p),
                                                               arguments(p, NEXT_TURN, accs)),
                                              "result");
    return onnx_region_end(&r, call);
given_up:
    n->failed |= !ok;
    uint32_t was = n->failed;
    (void)onnx_region_end(&r, tn_tuple_of(ctx, (tn_list){0}));
    n->failed = was;
    return NULL;
}

/* Whether another turn is made. */
static const tn_expr *
decide(loop *p, const tn_expr *turn)
{
    tn_ctx *ctx = p->n->ctx;
    const tn_expr *test = p->count ? tn_lt_of(ctx, p->i, p->count) : NULL, *seq = turn;
    if (p->cond_kind == COND_SCALAR)
        test = tn_and(ctx, test, tn_ne_of(ctx, p->cond, tn_i64(ctx, 0)));
    if (p->cond_kind == COND_TENSOR)
        seq = onnx_if_sequence(&p->f, p->cond, seq, exit_sequence(p));
    if (test)
        seq = onnx_if_sequence(&p->f, test, seq, exit_sequence(p));
    return seq;
}

/* A buffer for collected results, outside. */
static const tn_expr *
first_rows(loop *p, const rows *r)
{
    onnx_node *n = p->n;
    tn_ctx *ctx = n->ctx;
    int64_t number;
    const tn_expr *count = tn_i64(ctx, FIRST_ROWS);
    if (p->cond_kind == COND_ALWAYS)
        count = tn_int_value(p->l->count, &number)
                    ? tn_i64(ctx, number > 0 ? number : 0)
                    : onnx_simplify(n, tn_max(ctx, p->l->count, tn_i64(ctx, 0)));
    tn_list dims = tn_listv(ctx, count, NULL);
    for (uint32_t i = 0; i < r->dims.n; i++)
        dims = tn_list_append(ctx, dims, onnx_to_outside(&p->f, r->dims.at[i]));
    return onnx_emit_call(n, tn_call_opv(ctx, "builtin.alloc_tensor", NULL,
                                         tn_shape_expr_of(ctx, dims),
                                         tn_dtype_imm_of(ctx, onnx_dtype(r->y)), tn_i64(ctx, 0),
                                         tn_string(ctx, "global"), NULL));
}

/* Field `index` of the result with names for the extents that are not known. */
static const tn_expr *
field(loop *p, const tn_expr *all, uint32_t index, tn_list inside)
{
    onnx_node *n = p->n;
    const tn_expr *e = onnx_tuple_get(n, all, index);
    tn_list dims, outside = {0};
    if (n->failed || tn_type_dims(e->type, &dims))
        return e;
    for (uint32_t i = 0; i < inside.n; i++)
        outside = tn_list_append(n->ctx, outside, onnx_to_outside(&p->f, inside.at[i]));
    return onnx_name_extents(n, e, outside);
}

static bool
make_loop(onnx_node *n, const onnx_loop *l, const tn_expr **carried, const tn_expr **collected)
{
    tn_ctx *ctx = n->ctx;
    loop p = {.n = n, .l = l, .cond_kind = l->cond_known ? COND_ALWAYS : COND_TENSOR};
    const tn_expr *turn = NULL;
    p.carries = TNB_NEW_N(n->imp->arena, carry, l->n_carries + 1);
    p.rows = TNB_NEW_N(n->imp->arena, rows, l->n_rows + 1);
    for (uint32_t k = 0; k < l->n_carries; k++)
        start_carry(&p, &p.carries[k], l->start[k]);
    for (uint32_t k = 0; k < l->n_rows; k++)
        p.rows[k].how = &l->rows[k];
    bool again = true;
    const struct onnx_settled *known = settled_before(&p);
    for (uint32_t k = 0; known && k < l->n_carries; k++) {
        p.carries[k].scalars &= known->at[k].scalars;
        p.carries[k].with_sign |= known->at[k].with_sign;
    }
    for (int attempt = 0; again && attempt < MAX_ATTEMPTS; attempt++) {
        again = false;
        for (uint32_t k = 0; k < l->n_carries; k++) {
            carry *c = &p.carries[k];
            if (!prepare_carry(&p, c, k))
                return false;
            if (known && known->at[k].rank == c->rank)
                memcpy(c->varies, known->at[k].varies, sizeof c->varies);
        }
        known = NULL;
        onnx_function_begin(&p.f, n, "loop");
        turn = turn_sequence(&p, &again);
        if (n->failed)
            return false;
    }
    if (again || !turn)
        return onnx_fail(n, TNB_UNSUPPORTED, "the types of the carried values do not settle");
    keep_settled(&p);
    int64_t number;
    if (l->n_rows && p.cond_kind == COND_ALWAYS && p.count && tn_int_value(p.count, &number) &&
        number > INT32_MAX)
        return onnx_fail(n, TNB_BOUNDS,
                         "the loop collects the results of %" PRId64 " iterations, at most %d do",
                         number, INT32_MAX);
    if (p.cond_kind == COND_ALWAYS && !p.count)
        return onnx_fail(
            n, TNB_INVALID,
            "the loop does not end: it has no count, and its condition is always true");
    const tn_expr *body = decide(&p, turn);
    const tn_expr **accs = TNB_NEW_N(n->imp->arena, const tn_expr *, l->n_rows + 1);
    for (uint32_t k = 0; k < l->n_rows && !n->failed; k++)
        accs[k] = first_rows(&p, &p.rows[k]);
    if (n->failed)
        return false;
    tn_list params = arguments(&p, PARAMS, NULL), args = arguments(&p, FIRST_CALL, accs);
    const tn_expr *all = onnx_function_end(&p.f, params, body, result_type(&p), args);
    for (uint32_t k = 0; k < l->n_carries && !n->failed; k++) {
        tn_list dims = {0};
        for (int64_t i = 0; i < p.carries[k].rank; i++)
            dims = tn_list_append(ctx, dims, p.carries[k].varies[i] ? NULL : p.carries[k].dims[i]);
        carried[k] = field(&p, all, k, dims);
    }
    for (uint32_t k = 0; k < l->n_rows && !n->failed; k++) {
        tn_list dims = tn_list_append(ctx, (tn_list){0}, NULL);
        dims = append_all(ctx, dims, p.rows[k].dims);
        collected[k] = field(&p, all, l->n_carries + k, dims);
    }
    return !n->failed;
}

/* ---- a loop that must not make a turn ---- */

typedef struct stopped {
    const onnx_loop *l;
    const char *why;
} stopped;

/* No rows of a declared type: extents that are not numbers are 0. */
static onnx_value *
no_rows(onnx_node *n, const Onnx__ValueInfoProto *info)
{
    const Onnx__TypeProto *t = info ? info->type : NULL;
    const Onnx__TypeProto__Tensor *tensor =
        t && t->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? t->tensor_type : NULL;
    tnb_dtype d = tensor ? tnb_onnx_dtype(tensor->elem_type) : TNB_VOID;
    tn_list dims = {0};
    if (!d.bits || !tensor->shape || tensor->shape->n_dim >= ONNX_MAX_DIMS)
        return NULL;
    for (size_t i = 0; i < tensor->shape->n_dim; i++) {
        int64_t extent = tensor->shape->dim[i]->dim_value;
        dims = tn_list_append(n->ctx, dims,
                              tn_i64(n->ctx, extent > 0 && extent <= INT32_MAX ? extent : 0));
    }
    onnx_value *v = onnx_value_new(n->imp, info->name);
    v->expr = onnx_emit(n, "zeros", tn_dictv(n->ctx, "dtype", tn_dtype_imm_of(n->ctx, d), NULL),
                        tn_shape_expr_of(n->ctx, dims), NULL);
    return v;
}

static bool
stopped_turn(void *user, onnx_region *r, const tn_expr *i, const tn_expr *count,
             onnx_value *const *carried, onnx_value **next, onnx_value **cond, onnx_value **y)
{
    const stopped *s = user;
    onnx_node *n = r->f->n;
    (void)i;
    (void)count;
    (void)cond;
    onnx_region_plain(r);
    onnx_emit_stop(r->f, s->why);
    memcpy(next, carried, s->l->n_carries * sizeof *next);
    for (uint32_t k = 0; k < s->l->n_rows && !n->failed; k++)
        if (!(y[k] = no_rows(n, s->l->row_types ? s->l->row_types[k] : NULL)))
            return false;
    return !n->failed;
}

/* A turn whose extents cannot be stops the program, unless one is made for certain. Other errors (operators or types that are not
 * there) are the model's in any case. */
static bool
make_stopped_loop(onnx_node *n, const onnx_loop *l, const onnx_part *part, const tn_expr **carried,
                  const tn_expr **collected)
{
    tnb_diags *d = tn_diags(n->ctx);
    tnb_status status = TNB_OK;
    int64_t number;
    const char *why = onnx_part_error(n->imp, part, &status);
    bool runs = l->cond_known && (!l->count || (tn_int_value(l->count, &number) && number > 0));
    if (!why || runs || (status != TNB_SHAPE && status != TNB_BOUNDS))
        return false;
    for (uint32_t k = 0; k < l->n_rows; k++)
        if (!l->row_types || !l->row_types[k])
            return false;
    stopped s = {l, tn_strf(n->ctx, "%s: an iteration cannot be made (%s)", n->text, why)};
    onnx_loop other = *l;
    other.body = stopped_turn;
    other.user = &s;
    tnb_diags_cut(d, part->diags);
    n->failed = false;
    tnb_report(d, TNB_WARNING, status, (tnb_place){.file = n->imp->model->file, .node = n->text},
               "an iteration cannot be made; the program stops where the loop has one");
    tnb_diag_note(d, "%s", why);
    return make_loop(n, &other, carried, collected);
}

bool
onnx_make_loop(onnx_node *n, const onnx_loop *l, const tn_expr **carried, const tn_expr **collected)
{
    if (n->imp->loops++ == 0)
        tnb_ptrmap_init(&n->imp->settled, n->imp->arena);
    const onnx_part part = onnx_part_begin(n->imp);
    bool made =
        make_loop(n, l, carried, collected) || (!(l->changes_rank && *l->changes_rank) &&
                                                make_stopped_loop(n, l, &part, carried, collected));
    n->imp->loops--;
    return made;
}
