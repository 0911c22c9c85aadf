/* SPDX-License-Identifier: Apache-2.0 */
/* LowerInt64: numbers of 64 bits are pairs of 32-bit words, for targets that have none (supports_int64 is False).
 *
 *     A, B: T.Buffer((n,), "int64")                A, B: T.Buffer((n * 2,), "uint32")
 *     for i in range(n):                     =>    for i in range(n_1):                      (n_1: n as an int32)
 *         B[i] = A[i] + T.int64(1)                     lo = A[i * 2] + 1; hi = A[i * 2 + 1] + T.Select(lo < A[i * 2], 1, 0)
 *                                                      B[i * 2] = lo; B[i * 2 + 1] = hi
 *
 * Indices, loops, scalars, and what is computed of them without loads, count in int32, where they fit: what is not certain the host
 * is asked to check before a launch ("requires" of TNK_LAUNCH_ATTR); what it cannot know either is computed with two words. Data has
 * two words, the lower first, as on a little-endian host (word_pairs.c has its arithmetic). Words that are used often are variables
 * in front of the statement; what must not be computed there, because a condition guards it, is guarded in its variable.
 * An index that came as data and needs more than 32 bits is out of every range. Calls without a form in words are errors.
 * Needs: flat buffers without views (LowerViews); NarrowDataType before, so that little is left.
 */
#include "words.h"

#include "tenon/kit/codegen.h"

/* ---- statements ---- */

static const tn_expr *
small_var(tnk_words *w, const tn_expr *var)
{
    const tn_expr *v =
        tn_var_dtype(w->ctx, tn_var_name(var), tnk_lanes_as(TNB_I32, tn_dtype_of(var)));
    tnb_ptrmap_set(&w->small, var, v);
    return v;
}

/* NULL: the variable is gone. */
static const tn_stmt *
bind(tnk_words *w, const tn_bind *b)
{
    tn_ctx *ctx = w->ctx;
    if (!tnk_is_wide(tn_dtype_of(b->var)))
        return tn_bind_of(ctx, b->var, tnk_words_rest(w, b->value));
    if (tnk_words_fit(w, b->value)) {
        tnb_ptrmap_set(&w->bound, b->var, (void *)(uintptr_t)tn_subst(ctx, b->value, &w->bound));
        const tn_expr *value = tnk_words_narrow(w, b->value);
        return tn_bind_of(ctx, small_var(w, b->var), value);
    }
    tnk_pair p = tnk_words_data(w, b->value);
    tnb_ptrmap_set(&w->vars, b->var, tnb_dup(tn_scratch(ctx), &p, sizeof p));
    return NULL;
}

static const tn_stmt *
store(tnk_words *w, const tn_buffer_store *b)
{
    tn_ctx *ctx = w->ctx;
    tn_list at = b->indices;
    for (uint32_t i = 0; i < at.n; i++)
        tn_list_change(ctx, &at, b->indices, i, tnk_words_index(w, b->indices.at[i]));
    const tn_node *to = tnb_ptrmap_get(&w->buffers, b->buffer);
    if (!to)
        return tn_buffer_store_of(ctx, b->buffer, tnk_words_rest(w, b->value), at);
    tnk_pair v = tnk_words_data(w, b->value);
    const tn_expr *i = at.at[0];
    tnk_pair place = tnk_words_places(ctx, tn_as_ramp(i) ? i : tnk_words_once(&w->pairs, i));
    const tn_stmt *both[] = {tn_buffer_store_of(ctx, to, v.lo, tn_list_of(ctx, &place.lo, 1)),
                             tn_buffer_store_of(ctx, to, v.hi, tn_list_of(ctx, &place.hi, 1))};
    return tnk_seq(ctx, both, 2);
}

/* Behind what the statement needs in front of it. */
static const tn_stmt *
finished(tnk_words *w, tnk_stmt_vec outer, const tn_stmt *s)
{
    if (s)
        TNB_PUSH(tn_scratch(w->ctx), w->front, s);
    s = tnk_seq(w->ctx, w->front.at, w->front.n);
    w->front = outer;
    tnk_words_leave(w);
    return s;
}

static const tn_stmt *
for_loop(tnk_words *w, tn_rewriter *r, const tn_for_loop *f, tnk_stmt_vec outer)
{
    tn_ctx *ctx = w->ctx;
    const tn_expr *v = f->var;
    if (!tnk_is_wide(tn_dtype_of(v))) {
        const tn_expr *min = tnk_words_rest(w, f->min), *extent = tnk_words_rest(w, f->extent);
        const tn_stmt *front = finished(w, outer, NULL);
        uint32_t mark = tn_arith_push(w->arith, NULL);
        tn_arith_range(w->arith, f->var, f->min, f->extent);
        const tn_stmt *loop = tnk_for_with(ctx, f, min, extent, tn_rewrite_child(r, f->body)),
                      *both[] = {front, loop};
        tn_arith_pop(w->arith, mark);
        return tnk_seq(ctx, both, 2);
    }
    if (!tn_is_int_const(f->min, 0))
        (void)tnk_words_fit(w, tn_add(ctx, f->min, f->extent));
    (void)(tnk_words_fit(w, f->min) && tnk_words_fit(w, f->extent));
    const tn_expr *min = tnk_words_index(w, f->min), *extent = tnk_words_index(w, f->extent);
    const tn_stmt *front = finished(w, outer, NULL);
    v = small_var(w, v);
    bool room = w->n_loops < TNK_WORDS_LOOPS;
    if (room) {
        w->loops[w->n_loops] = f->var, w->mins[w->n_loops] = f->min;
        w->extents[w->n_loops++] = f->extent;
    }
    uint32_t mark = tn_arith_push(w->arith, NULL);
    tn_arith_range(w->arith, f->var, f->min, f->extent);
    const tn_stmt *loop = tn_for_of(ctx, v, min, extent, (tn_for_kind)f->for_kind, f->thread_tag,
                                    f->annotations, tn_rewrite_child(r, f->body));
    const tn_stmt *both[] = {front, loop};
    tn_arith_pop(w->arith, mark);
    w->n_loops -= room;
    return tnk_seq(ctx, both, 2);
}

/* A condition that needs variables is looked at within the loop. */
static const tn_stmt *
while_loop(tnk_words *w, tn_rewriter *r, const tn_while_loop *l, tnk_stmt_vec outer)
{
    tn_ctx *ctx = w->ctx;
    const tn_expr *cond = tnk_words_rest(w, l->cond);
    if (!w->front.n)
        return finished(w, outer, tn_while_of(ctx, cond, tn_rewrite_child(r, l->body)));
    const tn_stmt *out =
        tn_if_stmt_of(ctx, tn_not(ctx, cond),
                      tn_rebuild(ctx, TN_KIND_BREAK, &(tn_none){.base = {0}}, NULL), NULL);
    const tn_stmt *both[] = {finished(w, outer, out), tn_rewrite_child(r, l->body)};
    return tn_while_of(ctx, tn_bool(ctx, true), tnk_seq(ctx, both, 2));
}

static const tn_stmt *
if_stmt(tnk_words *w, tn_rewriter *r, const tn_if_stmt *s, tnk_stmt_vec outer)
{
    const tn_expr *cond = tnk_words_rest(w, s->cond);
    const tn_stmt *both[] = {finished(w, outer, NULL), NULL};
    both[1] = tn_if_stmt_of(w->ctx, cond, tn_rewrite_child(r, s->then_case),
                            s->else_case ? tn_rewrite_child(r, s->else_case) : NULL);
    return tnk_seq(w->ctx, both, 2);
}

static const tn_node *
stmt(tn_rewriter *r, const tn_node *n)
{
    tnk_words *w = r->user;
    tn_ctx *ctx = w->ctx;
    if (w->failed || tn_is_scalar(n))
        return n;
    tn_loc was = tn_at(ctx, n->loc);
    tnk_stmt_vec outer = w->front;
    const tn_node *out = NULL;
    tnk_words_scope s;
    tnk_words_enter(w, &s, NULL, true);
    w->front = (tnk_stmt_vec){0};
    switch ((int)n->kind) {
    case TN_KIND_BUFFER_STORE:
        out = store(w, (const tn_buffer_store *)n);
        break;
    case TN_KIND_BIND:
        out = finished(w, outer, bind(w, (const tn_bind *)n));
        tn_at(ctx, was);
        return out;
    case TN_KIND_EVALUATE:
        out = tn_evaluate_of(ctx, tnk_words_rest(w, ((const tn_evaluate *)n)->value));
        break;
    case TN_KIND_ASSERT:
        out = tn_assert_of(ctx, tnk_words_rest(w, ((const tn_assert_stmt *)n)->cond),
                           ((const tn_assert_stmt *)n)->message);
        break;
    case TN_KIND_ALLOC_BUFFER: {
        const tn_alloc_buffer *a = (const tn_alloc_buffer *)n;
        const tn_node *to = tnb_ptrmap_get(&w->buffers, a->buffer);
        out = to ? tn_alloc_buffer_of(ctx, to, a->annotations) : n;
        break;
    }
    case TN_KIND_FOR:
        out = for_loop(w, r, (const tn_for_loop *)n, outer);
        tn_at(ctx, was);
        return out;
    case TN_KIND_WHILE:
        out = while_loop(w, r, (const tn_while_loop *)n, outer);
        tn_at(ctx, was);
        return out;
    case TN_KIND_IF_STMT:
        out = if_stmt(w, r, (const tn_if_stmt *)n, outer);
        tn_at(ctx, was);
        return out;
    case TN_KIND_ATTR_STMT: {
        const tn_attr_stmt *a = (const tn_attr_stmt *)n;
        const tn_expr *value = !tn_is_scalar(a->value)              ? a->value
                               : tnk_is_wide(tn_dtype_of(a->value)) ? tnk_words_index(w, a->value)
                                                                    : tnk_words_rest(w, a->value);
        const tn_stmt *both[] = {finished(w, outer, NULL), NULL};
        both[1] = tn_attr_stmt_of(ctx, a->node, a->key, value, tn_rewrite_child(r, a->body));
        tn_at(ctx, was);
        return tnk_seq(ctx, both, 2);
    }
    default:
        w->front = outer;
        tnk_words_leave(w);
        tn_at(ctx, was);
        return NULL;
    }
    out = finished(w, outer, out);
    tn_at(ctx, was);
    return out;
}

/* ---- functions ---- */

static void
replace(tnk_words *w, const tn_node *buffer)
{
    tn_ctx *ctx = w->ctx;
    tn_buffer b = *tn_as_buffer(buffer);
    if (!tnk_is_wide(b.dtype))
        return;
    if (b.shape.n != 1 || b.dtype.lanes != 1) {
        tn_error(ctx, buffer->loc, TNB_UNSUPPORTED,
                 "'%s': buffer '%s' of %s has no form in words of 32 bits (the target's attribute "
                 "supports_int64 is "
                 "False)",
                 w->func, b.name, tnb_dtype_print(b.dtype).s);
        w->failed = true;
        return;
    }
    const tn_expr *size =
        tn_mul(ctx, b.shape.at[0], tn_int_imm_of(ctx, tn_dtype_of(b.shape.at[0]), 2));
    b.shape = tn_list_of(ctx, &size, 1);
    b.dtype = TNB_DTYPE(TNB_UINT, 32);
    b.data = NULL;
    tnb_ptrmap_set(&w->buffers, buffer, tn_buffer_of(ctx, &b));
}

static tn_walk_step
find_local(void *user, const tn_node *n)
{
    if (n->kind == TN_KIND_ALLOC_BUFFER)
        replace(user, ((const tn_alloc_buffer *)n)->buffer);
    return TN_WALK_ON;
}

/* Indices of a parameter fit where the number of its elements does. */
static void
check_size(tnk_words *w, const tn_node *buffer)
{
    const tn_node *to = tnb_ptrmap_get(&w->buffers, buffer);
    const tn_buffer *b = tn_as_buffer(to ? to : buffer);
    const char *what = tn_strf(w->ctx, "the number of %s of buffer '%s'",
                               to ? "32-bit words" : "elements", b->name);
    int64_t n;
    if (b->shape.n != 1)
        return;
    if (tn_int_value(b->shape.at[0], &n)) {
        if (n > INT32_MAX && !w->failed) {
            tn_error(w->ctx, buffer->loc, TNB_UNSUPPORTED,
                     "'%s': %s is %lld, which the target's numbers of 32 bits do not hold (its "
                     "attribute supports_int64 is False)",
                     w->func, what, (long long)n);
            w->failed = true;
        }
        return;
    }
    if (tnk_words_given(w, b->shape.at[0]))
        tnk_words_require(w, tn_cast_to(w->ctx, TNB_I64, b->shape.at[0]), buffer->loc, what);
}

/* Scalars become int32; the host says what they are, and checks that they fit. */
static void
small_params(tnk_words *w, const tn_prim_func *f, tn_list *params, tn_list *values,
             tnb_ptrmap *sizes)
{
    tn_ctx *ctx = w->ctx;
    for (uint32_t i = 0; i < f->params.n; i++) {
        const tn_expr *p = f->params.at[i];
        int64_t lo, hi;
        if (!tnk_is_wide(tn_dtype_of(p)))
            continue;
        const tn_expr *v = small_var(w, p);
        tnb_ptrmap_set(&w->given, p, (void *)(uintptr_t)p);
        tnb_ptrmap_set(sizes, p, (void *)(uintptr_t)tn_cast_to(ctx, tn_dtype_of(p), v));
        tn_list_change(ctx, params, f->params, i, v);
        *values =
            tn_list_append(ctx, *values,
                           tn_array_of(ctx, tn_listv(ctx, v, tn_cast_to(ctx, TNB_I32, p), NULL)));
        tn_bounds(w->arith, p, &lo, &hi);
        tn_arith_bounds_of_var(w->arith, p, lo < -INT32_MAX ? -INT32_MAX : lo, INT32_MAX);
        if (tn_uses(f->body, p))
            tnk_words_require(w, p, TN_NODE(f)->loc, tn_strf(ctx, "'%s'", tn_var_name(p)));
    }
}

/* What a launch has beside what it had. */
static const tn_node *
launch_attrs(tnk_words *w, const tn_prim_func *f, tn_list values)
{
    tn_ctx *ctx = w->ctx;
    const tn_node *launch = tn_dict_get(f->attrs, TNK_LAUNCH_ATTR);
    const tn_array *had = tn_as_array(tn_dict_get(launch, "requires"));
    for (uint32_t i = 0; had && i < had->items.n; i++)
        w->requires_ = tn_list_append(ctx, w->requires_, had->items.at[i]);
    if (values.n)
        launch = tn_dict_set(ctx, launch, "values", tn_array_of(ctx, values));
    if (w->requires_.n)
        launch = tn_dict_set(ctx, launch, "requires", tn_array_of(ctx, w->requires_));
    return launch ? tn_dict_set(ctx, f->attrs, TNK_LAUNCH_ATTR, launch) : f->attrs;
}

static const tn_node *
lower_func(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
           void *user)
{
    (void)m;
    (void)user;
    tn_ctx *ctx = pc->ctx;
    const tn_prim_func *f = tn_as_prim_func(func);
    bool none = tn_walk(f->body, TN_WALK_ONCE, tnk_find_wide, NULL, NULL);
    for (uint32_t i = 0; i < f->buffers.n; i++) /* unused ones are parameters all the same */
        none &= !f->buffers.at[i] || !tnk_is_wide(tn_as_buffer(f->buffers.at[i])->dtype);
    if (none)
        return func;
    tnk_words w = {.ctx = ctx, .func = name, .pairs = {.ctx = ctx, .once = tnk_words_once}};
    w.pairs.user = &w;
    tnk_ranged ranged = {0};
    tnk_ranged_init(&ranged, ctx, f);
    w.arith = ranged.arith;
    tnb_ptrmap sizes, *maps[] = {&w.buffers, &w.small,   &w.vars,    &w.bound,
                                 &w.given,   &w.counted, &w.fitting, &sizes};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        tnb_ptrmap_init(maps[i], tn_scratch(ctx));
    const tn_array *had =
        tn_as_array(tn_dict_get(tn_dict_get(f->attrs, TNK_LAUNCH_ATTR), "values"));
    tn_list params = f->params, buffers = f->buffers, values = had ? had->items : (tn_list){0};
    small_params(&w, f, &params, &values, &sizes);
    for (uint32_t i = 0; i < f->buffers.n; i++) {
        const tn_node *b = f->buffers.at[i];
        if (!b)
            continue;
        replace(&w, b);
        check_size(&w, b);
    }
    tn_walk(f->body, TN_WALK_ONCE, find_local, NULL, &w);
    tn_rewriter r = {.ctx = ctx, .user = &w, .pre = stmt, .in_context = true};
    const tn_stmt *body = w.failed ? f->body : tn_rewrite(&r, f->body);
    tnb_ptrmap resized;
    tnb_ptrmap_init(&resized, tn_scratch(ctx));
    for (uint32_t i = 0; i < f->buffers.n; i++) {
        const tn_node *b = f->buffers.at[i], *to = b ? tnb_ptrmap_get(&w.buffers, b) : NULL;
        const tn_node *now = to ? to : b;
        const tn_buffer *x = tn_as_buffer(now);
        const tn_expr *size = x && x->shape.n == 1 ? tn_subst(ctx, x->shape.at[0], &sizes) : NULL;
        if (size && size != x->shape.at[0]) {
            tn_buffer copy = *x;
            copy.shape = tn_list_of(ctx, &size, 1);
            tnb_ptrmap_set(&resized, now, tn_buffer_of(ctx, &copy));
            now = tnb_ptrmap_get(&resized, now);
        }
        if (now)
            tn_list_change(ctx, &buffers, f->buffers, i, now);
    }
    if (resized.n && !w.failed)
        body = tn_subst(ctx, body, &resized);
    tn_loc was = tn_at(ctx, func->loc);
    const tn_node *n =
        w.failed ? NULL
                 : tn_prim_func_of(ctx, params, buffers, body, f->ret, launch_attrs(&w, f, values));
    tn_at(ctx, was);
    return !n || tn_is_error(body) || tn_is_error(n) ? NULL : n;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_target_lacks(pc, "supports_int64") ? tnk_map_kernels(pc, m, lower_func, NULL) : m;
}

const tn_pass tnk_pass_lower_int64 = {
    .base.size = sizeof(tn_pass),
    .base.name = "LowerInt64",
    .base.doc = "Makes numbers of 64 bits pairs of 32-bit words, for targets that have none.",
    .keeps = TN_KEEPS_SIGNATURES,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
