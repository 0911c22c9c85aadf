/* SPDX-License-Identifier: Apache-2.0 */
/* UniformBarriers: barriers stand where all threads of a block come, for targets whose attribute uniform_barriers asks for it.
 *
 *     if t < 8:                                      c = t < 8
 *         S[t] = A[t]                                if c: S[t] = A[t]
 *         T.tvm_storage_sync("shared")        =>     T.tvm_storage_sync("shared")
 *         B[t] = S[7 - t]                            if c: B[t] = S[7 - t]
 *
 * A condition that differs between threads moves to the parts around the barrier; a loop whose number of turns differs runs as often
 * as for the thread with most of them, where that is known. Other loops with barriers (a while of some threads, a break) are errors.
 * What differs: threadIdx, memory of a thread, what effects return, and all that is computed from them; with "static", which is what
 * WGSL's analysis of uniformity sees, also elements of memory that the kernel writes. T.tvm_thread_invariant says that a value does
 * not. Runs before ThreadSync, whose own barriers stand where all threads come. Needs: no blocks.
 */
#include "lower.h"

enum { MAX_THREADS = 6 };

typedef struct flow {
    tn_ctx *ctx;
    const char *func;
    bool by_memory;     /* written memory differs too */
    tnb_ptrmap differs; /* variables */
    tnb_ptrmap written; /* data pointers */
    const tn_expr *threads[MAX_THREADS], *extents[MAX_THREADS];
    uint32_t n_threads;
    bool failed;
} flow;

static const tn_stmt *
together(flow *w, const tn_stmt *s, const tn_expr *some);

/* ---- what differs between the threads of a block ---- */

static bool
is_scope(const tn_node *buffer, const char *scope)
{
    const char *s = tn_as_buffer(buffer)->scope;
    return s && !strncmp(s, scope, strlen(scope));
}

static tn_walk_step
find_difference(void *user, const tn_node *n)
{
    const flow *w = user;
    if (tn_is_intrin(n, TN_INTRIN_tvm_thread_invariant))
        return TN_WALK_SKIP;
    if (tn_is_var(n) && tnb_ptrmap_has(&w->differs, n))
        return TN_WALK_STOP;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    if (l && (is_scope(l->buffer, "local") || is_scope(l->buffer, "warp") ||
              (w->by_memory && tnb_ptrmap_has(&w->written, tn_as_buffer(l->buffer)->data))))
        return TN_WALK_STOP;
    const tn_op *op = n->kind == TN_KIND_CALL ? tn_call_op_of((const tn_call *)n) : NULL;
    return n->kind == TN_KIND_CALL && (!op || (op->flags & TN_OP_IMPURE)) ? TN_WALK_STOP
                                                                          : TN_WALK_ON;
}

static bool
differs(const flow *w, const tn_expr *e)
{
    return !tn_walk(e, TN_WALK_ONCE, find_difference, NULL, (void *)(uintptr_t)w);
}

static void
mark(flow *w, const tn_expr *var)
{
    tnb_ptrmap_set(&w->differs, var, var);
}

static tn_walk_step
find_write(void *user, const tn_node *n)
{
    flow *w = user;
    if (n->kind == TN_KIND_BUFFER_STORE) {
        const tn_expr *data = tn_as_buffer(((const tn_buffer_store *)n)->buffer)->data;
        tnb_ptrmap_set(&w->written, data, data);
    }
    return TN_WALK_ON;
}

/* What must not be computed where a condition does not hold. */
static tn_walk_step
find_risk(void *user, const tn_node *n)
{
    (void)user;
    bool divides = n->kind >= TN_KIND_DIV && n->kind <= TN_KIND_FLOOR_MOD;
    return divides || n->kind == TN_KIND_BUFFER_LOAD || n->kind == TN_KIND_CALL ? TN_WALK_STOP
                                                                                : TN_WALK_ON;
}

static bool
is_safe(const tn_expr *e)
{
    return tn_walk(e, TN_WALK_ONCE, find_risk, NULL, NULL);
}

static tn_walk_step
find_barrier(void *user, const tn_node *n)
{
    (void)user;
    return tn_is_intrin(n, TN_INTRIN_tvm_storage_sync) ? TN_WALK_STOP : TN_WALK_ON;
}

static bool
has_barrier(const tn_stmt *s)
{
    return !tn_walk(s, TN_WALK_ONCE, find_barrier, NULL, NULL);
}

static tn_walk_step
find_leave(void *user, const tn_node *n)
{
    (void)user;
    return n->kind == TN_KIND_BREAK || n->kind == TN_KIND_CONTINUE ? TN_WALK_STOP : TN_WALK_ON;
}

/* ---- statements ---- */

static const tn_stmt *
refuse(flow *w, const tn_stmt *s, const char *what)
{
    if (!w->failed) {
        tn_error(w->ctx, s->loc, TNB_UNSUPPORTED,
                 "'%s': a barrier stands in %s, and the target's attribute uniform_barriers asks "
                 "for all threads "
                 "of a block to come to it",
                 w->func, what);
        tnb_diag_hint(tn_diags(w->ctx),
                      "move the barrier outside, or say that a value is the same for all threads "
                      "by T.tvm_thread_invariant");
    }
    w->failed = true;
    return s;
}

static const tn_stmt *
where(flow *w, const tn_expr *some, const tn_stmt *s)
{
    return some ? tn_if_stmt_of(w->ctx, some, s, NULL) : s;
}

/* A variable for a condition that holds for some threads. */
static const tn_expr *
condition(flow *w, const tn_expr *some, const tn_expr *cond, tnk_stmt_vec *out)
{
    tn_ctx *ctx = w->ctx;
    const tn_expr *var = tn_var_dtype(ctx, "some", TNB_B8);
    if (some)
        cond = is_safe(cond) ? tn_and(ctx, some, cond)
                             : tn_if_then_else(ctx, some, cond, tn_bool(ctx, false));
    TNB_PUSH(tn_scratch(ctx), *out, tn_bind_of(ctx, var, cond));
    mark(w, var);
    return var;
}

/* The parts of a sequence that hold no barriers, under the condition; what is defined stays visible. */
static const tn_stmt *
sequence(flow *w, const tn_seq *q, const tn_expr *some)
{
    tn_ctx *ctx = w->ctx;
    tnk_stmt_vec out = {0}, part = {0};
    for (uint32_t i = 0; i <= q->stmts.n && !w->failed; i++) {
        const tn_stmt *s = i < q->stmts.n ? q->stmts.at[i] : NULL;
        const tn_bind *b = s ? tn_as_bind(s) : NULL;
        bool defines =
            s && (b || s->kind == TN_KIND_ALLOC_BUFFER || s->kind == TN_KIND_DECL_BUFFER);
        if (s && !defines && !has_barrier(s)) {
            TNB_PUSH(tn_scratch(ctx), part, s);
            continue;
        }
        if (part.n)
            TNB_PUSH(tn_scratch(ctx), out, where(w, some, tnk_seq(ctx, part.at, part.n)));
        part.n = 0;
        if (b && some && !is_safe(b->value)) {
            tnb_dtype d = tn_dtype_of(b->var), one = d;
            one.lanes = 1;
            const tn_expr *zero = d.code == TNB_HANDLE ? NULL : tn_literal(ctx, one, 0);
            if (zero && d.lanes > 1)
                zero = tn_broadcast_of(ctx, zero, d.lanes);
            mark(w, b->var);
            s = zero ? tn_bind_of(ctx, b->var, tn_if_then_else(ctx, some, b->value, zero)) : s;
        } else if (b && differs(w, b->value)) {
            mark(w, b->var);
        }
        if (s)
            TNB_PUSH(tn_scratch(ctx), out, defines ? s : together(w, s, some));
    }
    return tnk_seq(ctx, out.at, out.n);
}

static const tn_stmt *
branch(flow *w, const tn_if_stmt *i, const tn_expr *some)
{
    tn_ctx *ctx = w->ctx;
    if (!differs(w, i->cond) && (!some || is_safe(i->cond)))
        return tn_if_stmt_of(ctx, i->cond, together(w, i->then_case, some),
                             i->else_case ? together(w, i->else_case, some) : NULL);
    if (!tn_walk(TN_NODE(i), TN_WALK_ONCE, find_leave, NULL, NULL))
        return refuse(w, TN_NODE(i),
                      "a condition that differs between threads, beside a break or continue");
    tnk_stmt_vec out = {0};
    const tn_expr *first = condition(w, some, i->cond, &out),
                  *second = i->else_case ? condition(w, some, tn_not(ctx, first), &out) : NULL;
    TNB_PUSH(tn_scratch(ctx), out, together(w, i->then_case, first));
    if (second)
        TNB_PUSH(tn_scratch(ctx), out, together(w, i->else_case, second));
    return tnk_seq(ctx, out.at, out.n);
}

/* As many turns as any thread has; NULL: not known. */
static const tn_expr *
most_turns(flow *w, const tn_expr *extent, bool guarded)
{
    tn_arith *a = tn_arith_new(w->ctx);
    const tn_expr *zero[MAX_THREADS], *hi = NULL, *lo = NULL;
    for (uint32_t i = 0; i < w->n_threads; i++) {
        zero[i] = tn_int_imm_of(w->ctx, tn_dtype_of(w->threads[i]), 0);
        tn_arith_range(a, w->threads[i], zero[i], w->extents[i]);
    }
    if (!tn_interval(a, extent, w->threads, zero, w->extents, w->n_threads, &lo, &hi) || !hi ||
        differs(w, hi) || (guarded && !is_safe(hi))) {
        int64_t least, most;
        tn_bounds(a, extent, &least, &most);
        hi = most < INT32_MAX ? tn_int_imm_of(w->ctx, tn_dtype_of(extent), most < 0 ? 0 : most)
                              : NULL;
    }
    return hi;
}

static const tn_stmt *
loop(flow *w, const tn_for_loop *f, const tn_expr *some)
{
    tn_ctx *ctx = w->ctx;
    if (f->for_kind == TN_FOR_THREAD_BINDING) {
        bool thread = !strncmp(f->thread_tag, "threadIdx", 9) && !tn_is_int_const(f->extent, 1);
        if (thread)
            mark(w, f->var);
        if (thread && w->n_threads < MAX_THREADS) {
            w->threads[w->n_threads] = f->var;
            w->extents[w->n_threads++] = f->extent;
        }
        return tnk_for_with(ctx, f, f->min, f->extent, together(w, f->body, some));
    }
    bool many = differs(w, f->min) || differs(w, f->extent) ||
                (some && !(is_safe(f->min) && is_safe(f->extent)));
    if (!many && !(some && !tn_walk(f->body, TN_WALK_ONCE, find_leave, NULL, NULL)))
        return tnk_for_with(ctx, f, f->min, f->extent, together(w, f->body, some));
    if (!tn_walk(f->body, TN_WALK_ONCE, find_leave, NULL, NULL))
        return refuse(w, TN_NODE(f), "a loop of some threads with a break or continue");
    const tn_expr *turns = most_turns(w, f->extent, some != NULL);
    if (!turns)
        return refuse(
            w, TN_NODE(f),
            "a loop whose number of iterations differs between threads and has no known bound");
    tnb_dtype d = tn_dtype_of(f->var);
    const tn_expr *k = tn_var_dtype(ctx, tn_var_name(f->var), d);
    tnk_stmt_vec out = {0};
    const tn_expr *mine = condition(w, some, tn_lt(ctx, k, tn_cast_to(ctx, d, f->extent)), &out);
    mark(w, f->var);
    TNB_PUSH(tn_scratch(ctx), out, tn_bind_of(ctx, f->var, tn_add(ctx, f->min, k)));
    TNB_PUSH(tn_scratch(ctx), out, together(w, f->body, mine));
    return tn_for_of(ctx, k, tn_int_imm_of(ctx, d, 0), tn_cast_to(ctx, d, turns), TN_FOR_SERIAL,
                     NULL, f->annotations, tnk_seq(ctx, out.at, out.n));
}

/* `s` for the threads for which `some` holds (NULL: for all), with all threads at its barriers. */
static const tn_stmt *
together(flow *w, const tn_stmt *s, const tn_expr *some)
{
    if (w->failed)
        return s;
    if (!has_barrier(s))
        return where(w, some, s);
    tn_loc was = tn_at(w->ctx, s->loc);
    const tn_stmt *out = s;
    switch ((int)s->kind) {
    case TN_KIND_SEQ:
        out = sequence(w, tn_as_seq(s), some);
        break;
    case TN_KIND_IF_STMT:
        out = branch(w, tn_as_if_stmt(s), some);
        break;
    case TN_KIND_FOR:
        out = loop(w, tn_as_for_loop(s), some);
        break;
    case TN_KIND_WHILE: {
        const tn_while_loop *l = tn_as_while_loop(s);
        if (some || differs(w, l->cond))
            out = refuse(w, s, "a while loop that differs between threads");
        else
            out = tn_while_of(w->ctx, l->cond, together(w, l->body, NULL));
        break;
    }
    case TN_KIND_ATTR_STMT: {
        const tn_attr_stmt *a = tn_as_attr_stmt(s);
        const tn_iter_var *iv = tn_as_iter_var(a->node);
        if (iv && !strcmp(a->key, "thread_extent") && !strncmp(iv->thread_tag, "threadIdx", 9))
            mark(w, iv->var);
        out = tn_attr_stmt_of(w->ctx, a->node, a->key, a->value, together(w, a->body, some));
        break;
    }
    default: /* the barrier itself */
        break;
    }
    tn_at(w->ctx, was);
    return out;
}

static const tn_node *
uniform_func(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
             void *user)
{
    (void)m;
    const tn_prim_func *f = tn_as_prim_func(func);
    if (!has_barrier(f->body))
        return func;
    flow w = {.ctx = pc->ctx, .func = name, .by_memory = *(const bool *)user};
    tnb_ptrmap_init(&w.differs, tn_scratch(pc->ctx));
    tnb_ptrmap_init(&w.written, tn_scratch(pc->ctx));
    tn_walk(f->body, TN_WALK_ONCE, find_write, NULL, &w);
    const tn_stmt *body = together(&w, f->body, NULL);
    return w.failed || tn_is_error(body)                  ? NULL
           : tn_equal(pc->ctx, body, f->body, true, NULL) ? func
                                                          : tnk_func_with_body(pc->ctx, f, body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    const char *asked =
        pc->target ? tn_dict_str(pc->target->attrs, "uniform_barriers", "no") : "no";
    bool by_memory = !strcmp(asked, "static");
    return strcmp(asked, "no") ? tnk_map_kernels(pc, m, uniform_func, &by_memory) : m;
}

const tn_pass tnk_pass_uniform_barriers = {
    .base.size = sizeof(tn_pass),
    .base.name = "UniformBarriers",
    .base.doc = "Moves conditions that differ between threads away from barriers, as the target's "
                "uniform_barriers asks.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
