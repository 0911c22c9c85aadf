/* SPDX-License-Identifier: Apache-2.0 */
/* ThreadSync: barriers between what the threads of a block write to shared memory and what others read there.
 *
 *     for t in threadIdx.x(64): S[t] = A[t]                  for t in threadIdx.x(64): S[t] = A[t]
 *     for t in threadIdx.x(64): B[t] = S[63 - t]      =>     T.tvm_storage_sync("shared")
 *                                                            for t in threadIdx.x(64): B[t] = S[63 - t]
 *
 * Two accesses of one buffer conflict if one of them writes, unless each thread meets its own element alone in both, or the
 * conditions around them keep them apart (S[t] and S[t + 32], both for t < 32). A barrier
 * stands in front of the statement that ends a conflict, as far outside as the conflict allows; a loop whose turns conflict with
 * each other has one inside. What only some threads run (conditions and extents that depend on threadIdx or on memory of a
 * thread, unless T.tvm_thread_invariant says otherwise) holds no barrier, and no shuffle of a warp: a conflict inside of it is an
 * error. Whole warps of 32 threads that a condition picks have a role: barriers inside of it are for them alone (T.ptx_bar_sync, where
 * the target has named_barriers), and what two roles of one condition share, a barrier in shared memory (T.ptx_mbarrier_arrive in the
 * one, T.ptx_mbarrier_try_wait in the other) or one with a number has to order. Barriers that are there already count. Virtual threads run one after another: a loop of them is one whose turns may
 * conflict, and where there is a barrier in it, none may read what another one writes. Needs: no blocks.
 */
#include "lower.h"

typedef struct access {
    const tn_node *buffer;
    tn_list indices;  /* in terms of one variable for each thread index */
    bool write, own;  /* own: no two threads meet there */
    int64_t *lo, *hi; /* of the indices, for all threads that come here; NULL: not known */
} access;

typedef struct accesses {
    TNB_VEC(access) v;
} accesses;

enum { MAX_TAGS = 6, MAX_CONDITIONS = 16, MAX_NUMBERS = 16 };

/* The threads met so far. */
typedef struct thread_indices {
    const char *tags[MAX_TAGS];
    const tn_expr *vars[MAX_TAGS], *extents[MAX_TAGS]; /* one variable for each index */
    const tn_expr
        *narrow[MAX_TAGS]; /* stands for the variable as an int32 where bounds are sought */
    uint32_t n;
    tnb_ptrmap loops;     /* variable of a loop -> that of its thread index */
    tnb_ptrmap divergent; /* variables that differ between threads */
    tnk_warp_roles warps;
    bool named;                  /* the target has barriers with a number, */
    uint32_t roles[MAX_NUMBERS]; /* each for these warps; ~0: the program uses it */
    uint32_t most;
} thread_indices;

typedef struct sync {
    tn_ctx *ctx;
    const char *func;
    thread_indices *threads;
    uint32_t guards; /* conditions around the statement at hand that only some threads meet */
    const tn_expr *conditions[MAX_CONDITIONS]; /* what holds at the statement */
    uint32_t n_conditions;
    accesses pending;          /* since the last barrier */
    accesses lead;             /* before the first one */
    bool barrier;              /* there was one */
    uint32_t inserted, nested; /* barriers; those of them for roles of some of these threads */
    uint32_t role;             /* the warps that come here, as bits; 0: all */
    bool failed;
} sync;

static bool
is_barrier(const tn_stmt *s)
{
    const tn_evaluate *e = tn_as_evaluate(s);
    const tn_call *c = e ? tn_as_call(e->value) : NULL;
    const tn_string_imm *scope = c && c->args.n ? tn_as_string_imm(c->args.at[0]) : NULL;
    return c && tn_is_intrin(e->value, TN_INTRIN_tvm_storage_sync) &&
           (!scope || !strncmp(scope->value, "shared", 6));
}

static tn_walk_step
find_shared(void *user, const tn_node *n)
{
    tn_list idx;
    const tn_node *b = tnk_accessed(n, &idx);
    const char *scope = b ? tn_as_buffer(b)->scope : NULL;
    if (!is_barrier(n) && !tnk_is_warp_call(n) && !tn_is_intrin(n, TN_INTRIN_ptx_bar_sync) &&
        !(scope && !strncmp(scope, "shared", 6)))
        return TN_WALK_ON;
    *(bool *)user = true;
    return TN_WALK_STOP;
}

static tn_walk_step
find_warp_call(void *user, const tn_node *n)
{
    (void)user;
    return tnk_is_warp_call(n) ? TN_WALK_STOP : TN_WALK_ON;
}

static bool
is_concerned(const tn_stmt *s)
{
    bool found = false;
    if (s)
        tn_walk(s, TN_WALK_ONCE, find_shared, NULL, &found);
    return found;
}

/* ---- what differs between threads ---- */

typedef struct differ {
    sync *st;
    bool yes;
} differ;

static tn_walk_step
find_divergent(void *user, const tn_node *n)
{
    differ *d = user;
    if (tn_is_intrin(n, TN_INTRIN_tvm_thread_invariant))
        return TN_WALK_SKIP;
    const tn_buffer_load *l = tn_as_buffer_load(n);
    const char *scope = l ? tn_as_buffer(l->buffer)->scope : NULL;
    d->yes |= tn_is_var(n) && tnb_ptrmap_has(&d->st->threads->divergent, n);
    d->yes |= scope && (!strncmp(scope, "local", 5) || !strncmp(scope, "warp", 4));
    return d->yes ? TN_WALK_STOP : TN_WALK_ON;
}

static bool
differs(sync *st, const tn_expr *e)
{
    differ d = {st, false};
    if (e)
        tn_walk(e, TN_WALK_ONCE, find_divergent, NULL, &d);
    return d.yes;
}

static void
enter_thread(sync *st, const tn_for_loop *f)
{
    thread_indices *t = st->threads;
    uint32_t i = 0;
    while (i < t->n && strcmp(t->tags[i], f->thread_tag))
        i++;
    if (i == MAX_TAGS)
        return;
    if (i == t->n) {
        t->tags[i] = f->thread_tag;
        t->vars[i] = tn_var_new(st->ctx, f->thread_tag, f->var->type);
        t->narrow[i] = tn_var_dtype(st->ctx, f->thread_tag, TNB_I32);
        t->extents[i] = f->extent;
        t->n++;
    }
    if (i + 1 == t->n && t->warps.n < 2 * t->n) {
        tnk_roles_add(&t->warps, t->vars[i], f->thread_tag, f->extent);
        tnk_roles_add(&t->warps, t->narrow[i], f->thread_tag, f->extent);
    }
    tnb_ptrmap_set(&t->loops, f->var, tn_cast_to(st->ctx, tn_dtype_of(f->var), t->vars[i]));
    if (!strncmp(f->thread_tag, "threadIdx", 9) && !tn_is_int_const(f->extent, 1))
        tnb_ptrmap_set(&t->divergent, f->var, f->var);
}

/* ---- accesses ---- */

static const tn_node *
narrowed(tn_rewriter *rw, const tn_node *n)
{
    const thread_indices *t = rw->user;
    const tn_cast *c = tn_as_cast(n);
    for (uint32_t i = 0; c && i < t->n; i++)
        if (c->value == t->vars[i] && tnb_dtype_eq(tn_dtype_of(n), TNB_I32))
            return t->narrow[i];
    return NULL;
}

/* Whether no two threads of a block have the same element: the indices tell the threads apart. */
static bool
tells_threads_apart(sync *st, tn_list indices)
{
    const tn_expr *vars[MAX_TAGS] = {0}, *extents[MAX_TAGS];
    uint32_t n = 0;
    thread_indices *all = st->threads;
    tn_rewriter rw = {.ctx = st->ctx, .user = all, .pre = narrowed};
    for (uint32_t i = 0; i < indices.n; i++)
        indices = tn_list_with(st->ctx, indices, i, tn_rewrite(&rw, indices.at[i]));
    for (uint32_t i = 0; i < all->n; i++) {
        if (strncmp(all->tags[i], "threadIdx", 9) || tn_is_int_const(all->extents[i], 1))
            continue;
        bool narrow = false, wide = false;
        for (uint32_t k = 0; k < indices.n; k++) {
            narrow |= tn_uses(indices.at[k], all->narrow[i]);
            wide |= tn_uses(indices.at[k], all->vars[i]);
        }
        if (narrow == wide)
            return false;
        vars[n] = narrow ? all->narrow[i] : all->vars[i];
        extents[n] = tn_cast_to(st->ctx, tn_dtype_of(vars[n]), all->extents[i]);
        n++;
    }
    tnb_ptrmap zero;
    tnb_ptrmap_init(&zero, tn_scratch(st->ctx));
    for (uint32_t i = 0; i < indices.n; i++) {
        tn_list fv = tn_free_vars(st->ctx, indices.at[i], true);
        for (uint32_t k = 0; k < fv.n; k++) {
            bool thread = false;
            for (uint32_t t = 0; t < n; t++)
                thread |= vars[t] == fv.at[k];
            if (!tn_is_var(fv.at[k]) || tnb_ptrmap_has(&all->divergent, fv.at[k]))
                return false; /* of a value of its own for each thread nothing is known */
            if (!thread)
                tnb_ptrmap_set(&zero, fv.at[k], tn_int_imm_of(st->ctx, tn_dtype_of(fv.at[k]), 0));
        }
    }
    tn_arith *a = tn_arith_new(st->ctx);
    for (uint32_t t = 0; t < n; t++)
        tn_arith_range(a, vars[t], tn_int_imm_of(st->ctx, tn_dtype_of(vars[t]), 0), extents[t]);
    const tn_expr **at = TNB_NEW_N(tn_scratch(st->ctx), const tn_expr *, indices.n + 1);
    bool used[MAX_TAGS] = {0};
    for (uint32_t i = 0; i < indices.n; i++) {
        at[i] = tn_simplify(a, zero.n ? tn_subst(st->ctx, indices.at[i], &zero) : indices.at[i]);
        for (uint32_t t = 0; t < n; t++)
            used[t] |= tn_uses(at[i], vars[t]);
    }
    for (uint32_t t = 0; t < n; t++)
        if (!used[t])
            return false;
    return tn_iter_map_check(a, at, indices.n, vars, extents, n, NULL, false);
}

/* The least and largest value of each index, by the conditions that hold here. */
static void
find_bounds(sync *st, access *a)
{
    tn_arith *ar = tn_arith_new(st->ctx);
    thread_indices *t = st->threads;
    tn_rewriter rw = {.ctx = st->ctx, .user = t, .pre = narrowed};
    for (uint32_t i = 0; i < t->n; i++) {
        tnb_dtype d = tn_dtype_of(t->vars[i]);
        tn_arith_range(ar, t->vars[i], tn_int_imm_of(st->ctx, d, 0), t->extents[i]);
        tn_arith_range(ar, t->narrow[i], tn_i32(st->ctx, 0),
                       tn_cast_to(st->ctx, TNB_I32, t->extents[i]));
    }
    for (uint32_t i = 0; i < st->n_conditions; i++)
        tn_arith_push(ar, tn_rewrite(&rw, tn_subst(st->ctx, st->conditions[i], &t->loops)));
    a->lo = TNB_NEW_N(tn_scratch(st->ctx), int64_t, a->indices.n + 1);
    a->hi = TNB_NEW_N(tn_scratch(st->ctx), int64_t, a->indices.n + 1);
    for (uint32_t i = 0; i < a->indices.n; i++)
        tn_bounds(ar, tn_rewrite(&rw, a->indices.at[i]), &a->lo[i], &a->hi[i]);
}

static bool
apart(const access *a, const access *b)
{
    for (uint32_t i = 0; a->lo && b->lo && i < a->indices.n && i < b->indices.n; i++)
        if (a->hi[i] < b->lo[i] || b->hi[i] < a->lo[i])
            return a->buffer == b->buffer;
    return false;
}

typedef struct collection {
    sync *st;
    accesses *out;
} collection;

/* What a call writes to that has its address: an asynchronous copy, or the beginning of a barrier. */
static const tn_node *
written_by_call(const tn_node *n, tn_list *indices)
{
    tn_intrin_id id = tn_intrin_of(n);
    const tn_call *c = tn_as_call(n);
    uint32_t to = id == TN_INTRIN_ptx_cp_async ? 1 : 0;
    if ((id != TN_INTRIN_ptx_cp_async && id != TN_INTRIN_ptx_cp_async_bulk &&
         id != TN_INTRIN_ptx_mbarrier_init) ||
        c->args.n <= to || !tn_is_intrin(c->args.at[to], TN_INTRIN_address_of))
        return NULL;
    const tn_buffer_load *l = tn_as_buffer_load(tn_as_call(c->args.at[to])->args.at[0]);
    if (!l)
        return NULL;
    *indices = l->indices;
    return l->buffer;
}

static tn_walk_step
collect_one(void *user, const tn_node *n)
{
    collection *c = user;
    sync *st = c->st;
    const tn_for_loop *f = tn_as_for_loop(n);
    tn_list idx;
    const tn_node *b = tnk_accessed(n, &idx);
    if (f && f->for_kind == TN_FOR_THREAD_BINDING && !tnk_is_vthread(f->thread_tag))
        enter_thread(st, f);
    if (f && (differs(st, f->min) || differs(st, f->extent)))
        tnb_ptrmap_set(&st->threads->divergent, f->var, f->var);
    const tn_bind *bind = tn_as_bind(n);
    if (bind && differs(st, bind->value))
        tnb_ptrmap_set(&st->threads->divergent, bind->var, bind->var);
    bool begins = tn_is_intrin(n, TN_INTRIN_ptx_mbarrier_init), copied = false;
    if (!b && (b = written_by_call(n, &idx)))
        copied = !begins; /* the index is that of the first element */
    if (!b || !tn_as_buffer(b)->scope || strncmp(tn_as_buffer(b)->scope, "shared", 6))
        return TN_WALK_ON;
    access a = {.buffer = b,
                .indices = idx,
                .write = copied || begins || n->kind == TN_KIND_BUFFER_STORE};
    for (uint32_t i = 0; i < idx.n; i++)
        a.indices =
            tn_list_with(st->ctx, a.indices, i, tn_subst(st->ctx, idx.at[i], &st->threads->loops));
    a.own = !copied && tells_threads_apart(st, a.indices);
    if (st->n_conditions && !copied)
        find_bounds(st, &a);
    TNB_PUSH(tn_scratch(st->ctx), c->out->v, a);
    return begins || copied ? TN_WALK_SKIP : TN_WALK_ON;
}

static void
collect(sync *st, const tn_node *n, accesses *out)
{
    collection c = {st, out};
    if (n)
        tn_walk(n, 0, collect_one, NULL, &c);
}

static bool
same_element(sync *st, const access *a, const access *b)
{
    if (!a->own || !b->own || a->indices.n != b->indices.n)
        return false;
    for (uint32_t i = 0; i < a->indices.n; i++)
        if (!tn_equal(st->ctx, a->indices.at[i], b->indices.at[i], false, NULL))
            return false;
    return true;
}

/* carried: `b` is met in a later turn of the loop over this variable. */
static bool
conflict(sync *st, const accesses *x, const accesses *y, const tn_expr *carried)
{
    for (uint32_t i = 0; i < x->v.n; i++)
        for (uint32_t k = 0; k < y->v.n; k++) {
            const access *a = &x->v.at[i], *b = &y->v.at[k];
            if (tn_as_buffer(a->buffer)->data != tn_as_buffer(b->buffer)->data ||
                (!a->write && !b->write) || apart(a, b))
                continue;
            if (carried && a->write && b->write)
                continue; /* what is never read between may be written in any order of turns */
            bool moves = false;
            for (uint32_t d = 0; carried && d < a->indices.n; d++)
                moves |= tn_uses(a->indices.at[d], carried);
            if (moves || !same_element(st, a, b))
                return true;
        }
    return false;
}

static void
join(sync *st, accesses *to, const accesses *from)
{
    for (uint32_t i = 0; i < from->v.n; i++)
        TNB_PUSH(tn_scratch(st->ctx), to->v, from->v.at[i]);
}

/* ---- statements ---- */

static const tn_stmt *
walk(sync *st, const tn_stmt *s);

static void
passed(sync *st)
{
    st->pending = (accesses){0};
    st->barrier = true;
}

/* A barrier with a number for the warps of the role. */
static const tn_expr *
role_barrier(sync *st)
{
    thread_indices *t = st->threads;
    uint32_t k = 1;
    while (k < t->most && t->roles[k] && t->roles[k] != st->role)
        k++;
    if (t->roles[k] && t->roles[k] != st->role)
        return NULL;
    t->roles[k] = st->role;
    const tn_expr *args[] = {tn_i32(st->ctx, k),
                             tn_i32(st->ctx, tnk_roles_threads(&t->warps, st->role))};
    return tn_intrin(st->ctx, TN_INTRIN_ptx_bar_sync, tn_list_of(st->ctx, args, 2));
}

static const tn_stmt *
behind_barrier(sync *st, const tn_stmt *s)
{
    const tn_expr *own = st->role ? role_barrier(st) : NULL;
    if (st->role && !own) {
        tn_error(st->ctx, s->loc, TNB_UNSUPPORTED,
                 "'%s': more roles of warps need barriers than the target has barriers with a "
                 "number (%u)",
                 st->func, st->threads->most);
        st->failed = true;
        return s;
    }
    if (own) {
        st->inserted++;
        return tn_seqv(st->ctx, tn_evaluate_of(st->ctx, own), s, NULL);
    }
    const tn_expr *scope = tn_string(st->ctx, "shared");
    const tn_expr *call =
        tn_intrin(st->ctx, TN_INTRIN_tvm_storage_sync, tn_list_of(st->ctx, &scope, 1));
    st->inserted++;
    return tn_seqv(st->ctx, tn_evaluate_of(st->ctx, call), s, NULL);
}

static const tn_stmt *
divergence(sync *st, const tn_stmt *s)
{
    tn_error(st->ctx, s->loc, TNB_INVALID,
             "'%s': threads have to wait for each other inside of what only some of them run",
             st->func);
    if (st->role && !st->guards)
        tnb_diag_hint(tn_diags(st->ctx),
                      "T.ptx_bar_sync(%u, %u) is a barrier for the warps that come here",
                      st->threads->most, tnk_roles_threads(&st->threads->warps, st->role));
    else
        tnb_diag_hint(tn_diags(st->ctx),
                      "move the loop or condition that depends on threadIdx inside, or what it "
                      "reads from shared memory in front of it");
    st->failed = true;
    return s;
}

/* A statement without barriers inside. */
static const tn_stmt *
leaf(sync *st, const tn_stmt *s)
{
    accesses a = {0};
    if (st->guards && !tn_walk(s, TN_WALK_ONCE, find_warp_call, NULL, NULL))
        return divergence(st, s);
    collect(st, s, &a);
    const tn_stmt *out = s;
    if (conflict(st, &st->pending, &a, NULL)) {
        out = behind_barrier(st, s);
        passed(st);
    }
    if (!st->barrier)
        join(st, &st->lead, &a);
    join(st, &st->pending, &a);
    return out;
}

/* What happens in `s` on its own: first and last accesses, and whether it needs or has barriers. */
static sync
rehearse(const sync *st, const tn_stmt *s, const accesses *before)
{
    sync t = *st;
    t.pending = (accesses){0};
    t.lead = (accesses){0};
    if (before)
        join(&t, &t.pending, before);
    t.barrier = false;
    t.inserted = t.nested = 0;
    (void)walk(&t, s);
    return t;
}

/* A loop, or a while, that some of the threads alone may run; var: what differs between its turns. */
static const tn_stmt *
repeated(sync *st, const tn_stmt *s, const tn_stmt *body, const tn_expr *var, bool some)
{
    const tn_for_loop *f = tn_as_for_loop(s);
    st->guards += some;
    sync once = rehearse(st, body, NULL);
    bool carried = conflict(st, &once.pending, &once.lead, var);
    const tn_stmt *out = s;
    st->failed |= once.failed;
    if (st->failed) {
    } else if (!once.inserted && !once.barrier && !carried) {
        st->guards -= some;
        return leaf(st, out);
    } else if (some) {
        out = divergence(st, out);
    } else {
        bool before = conflict(st, &st->pending, &once.lead, NULL), barrier;
        if (!st->barrier)
            join(st, &st->lead, &once.lead);
        if (before)
            passed(st);
        const accesses outside = st->pending;
        if (carried) {
            /* in front of the first access that meets what the turn before left */
            sync t = *st;
            t.pending = (accesses){0};
            join(&t, &t.pending, &once.pending);
            t.inserted = t.nested = 0;
            body = walk(&t, body);
            st->pending = t.pending;
            if (t.inserted == t.nested) {
                body = behind_barrier(&t, body);
                st->pending = once.pending;
            }
            barrier = true;
            st->failed |= t.failed;
            st->inserted += t.inserted;
            st->nested += t.nested;
        } else {
            sync t = *st;
            t.pending = (accesses){0};
            t.barrier = false;
            t.inserted = t.nested = 0;
            body = walk(&t, body);
            st->pending = t.pending;
            barrier = t.barrier;
            st->failed |= t.failed;
            st->inserted += t.inserted;
            st->nested += t.nested;
        }
        join(st, &st->pending, &outside); /* the loop may have no turn */
        st->barrier |= barrier;
        out = f ? tnk_for_with(st->ctx, f, f->min, f->extent, body)
                : tn_while_of(st->ctx, tn_as_while_loop(s)->cond, body);
        if (before)
            out = behind_barrier(st, out);
    }
    st->guards -= some;
    return out;
}

/* ---- virtual threads ---- */

static tn_walk_step
note_range(void *user, const tn_node *n)
{
    const tn_for_loop *f = tn_as_for_loop(n);
    if (f)
        tn_arith_range(user, f->var, f->min, f->extent);
    return TN_WALK_ON;
}

/* Whether two turns v and w of the loop never meet: in one dimension, what `a` reaches in the one lies beside what `b` reaches in
 * the other. */
static bool
turns_apart(sync *st, const tn_for_loop *f, const access *a, const access *b)
{
    tn_arith *ar = tn_arith_new(st->ctx);
    const tn_expr *v = f->var;
    for (uint32_t i = 0; i < st->threads->n; i++)
        tn_arith_range(ar, st->threads->vars[i],
                       tn_int_imm_of(st->ctx, tn_dtype_of(st->threads->vars[i]), 0),
                       st->threads->extents[i]);
    tn_walk(f->body, 0, note_range, NULL, ar);
    for (uint32_t d = 0; d < a->indices.n && a->indices.n == b->indices.n; d++) {
        int64_t step[2], lo[2] = {TN_NEG_INF, TN_NEG_INF}, hi[2] = {TN_POS_INF, TN_POS_INF};
        bool linear = true;
        for (int i = 0; i < 2 && linear; i++) {
            const tn_expr *at = (i ? b : a)->indices.at[d], *factor, *rest;
            linear = tn_linear(ar, at, &v, 1, &factor, &rest) && tn_int_value(factor, &step[i]);
            if (linear)
                tn_bounds(ar, rest, &lo[i], &hi[i]);
            linear = linear && lo[i] != TN_NEG_INF && hi[i] != TN_POS_INF;
        }
        if (!linear || step[0] != step[1])
            continue;
        int64_t stride = step[0] < 0 ? -step[0] : step[0];
        if (hi[0] - lo[1] < stride && hi[1] - lo[0] < stride)
            return true;
    }
    return false;
}

/* Virtual threads run one after another, so none may wait for what another one writes. */
static void
check_virtual(sync *st, const tn_for_loop *f)
{
    accesses all = {0};
    collect(st, f->body, &all);
    for (uint32_t i = 0; i < all.v.n; i++)
        for (uint32_t k = 0; k < all.v.n && !st->failed; k++) {
            const access *w = &all.v.at[i], *r = &all.v.at[k];
            bool own = false;
            for (uint32_t d = 0; d < w->indices.n; d++)
                own |= tn_uses(w->indices.at[d], f->var);
            if (!w->write || r->write || !own ||
                tn_as_buffer(w->buffer)->data != tn_as_buffer(r->buffer)->data ||
                turns_apart(st, f, w, r))
                continue;
            tn_error(st->ctx, f->base.loc, TNB_UNSUPPORTED,
                     "'%s': virtual threads (%s) may read from '%s' what others of them write; "
                     "they run one after another",
                     st->func, f->thread_tag ? f->thread_tag : "virtual_thread",
                     tn_as_buffer(w->buffer)->name);
            tnb_diag_hint(tn_diags(st->ctx), "bind the loop to threadIdx, or let each virtual "
                                             "thread read what it has written itself");
            st->failed = true;
        }
}

static const tn_stmt *
loop(sync *st, const tn_for_loop *f)
{
    if (f->for_kind == TN_FOR_THREAD_BINDING && tnk_is_vthread(f->thread_tag)) {
        sync once = rehearse(st, f->body, NULL);
        st->failed |= once.failed;
        if (once.inserted || once.barrier)
            check_virtual(st, f);
        return st->failed ? TN_NODE(f) : repeated(st, TN_NODE(f), f->body, f->var, false);
    }
    if (f->for_kind == TN_FOR_THREAD_BINDING) {
        enter_thread(st, f);
        return tnk_for_with(st->ctx, f, f->min, f->extent, walk(st, f->body));
    }
    bool some = differs(st, f->min) || differs(st, f->extent);
    if (some)
        tnb_ptrmap_set(&st->threads->divergent, f->var, f->var);
    return repeated(st, TN_NODE(f), f->body, f->var, some);
}

/* ---- roles of warps ---- */

typedef struct signals {
    tnb_ptrmap come,
        wait; /* data of barriers in shared memory, at which threads arrive and for which they wait */
    uint32_t numbers; /* barriers with a number, as bits */
    const sync *st;
} signals;

static const tn_node *
barrier_of(const tn_expr *address)
{
    const tn_buffer_load *l = tn_is_intrin(address, TN_INTRIN_address_of)
                                  ? tn_as_buffer_load(tn_as_call(address)->args.at[0])
                                  : NULL;
    return l ? tn_as_buffer(l->buffer)->data : NULL;
}

static tn_walk_step
find_signals(void *user, const tn_node *n)
{
    signals *s = user;
    const tn_attr_stmt *a = tn_as_attr_stmt(n);
    const tn_call *c = tn_as_call(n);
    tn_intrin_id id = tn_intrin_of(n);
    bool comes = id == TN_INTRIN_ptx_mbarrier_arrive ||
                 id == TN_INTRIN_ptx_mbarrier_arrive_expect_tx ||
                 id == TN_INTRIN_ptx_cp_async_mbarrier_arrive,
         waits = id == TN_INTRIN_ptx_mbarrier_try_wait;
    const tn_node *at = comes || waits                               ? barrier_of(c->args.at[0])
                        : a && !strcmp(a->key, "async_arrive_scope") ? barrier_of(a->value)
                                                                     : NULL;
    int64_t number;
    if (at)
        tnb_ptrmap_set(waits ? &s->wait : &s->come, at, at);
    if ((id == TN_INTRIN_ptx_bar_sync || id == TN_INTRIN_ptx_bar_arrive) &&
        tn_int_value(c->args.at[0], &number) && number >= 0 && number < MAX_NUMBERS)
        s->numbers |= 1u << number;
    return TN_WALK_ON;
}

static signals
signals_of(const sync *st, const tn_stmt *s)
{
    signals out = {.st = st};
    tnb_ptrmap_init(&out.come, tn_scratch(st->ctx));
    tnb_ptrmap_init(&out.wait, tn_scratch(st->ctx));
    if (s)
        tn_walk(s, TN_WALK_ONCE, find_signals, NULL, &out);
    return out;
}

/* Whether one of the roles waits for the other at a barrier. */
static bool
are_ordered(const signals *a, const signals *b)
{
    bool any = (a->numbers & b->numbers) != 0;
    for (uint32_t i = 0; i < a->come.n; i++)
        any |= tnb_ptrmap_has(&b->wait, a->come.at[i].key);
    for (uint32_t i = 0; i < b->come.n; i++)
        any |= tnb_ptrmap_has(&a->wait, b->come.at[i].key);
    return any;
}

/* A part of the `if` for the warps of `role`, on its own. */
static sync
in_role(const sync *st, const tn_stmt *s, const tn_expr *cond, uint32_t role, bool *signs)
{
    sync t = *st;
    t.role = role;
    if (t.n_conditions < MAX_CONDITIONS)
        t.conditions[t.n_conditions++] = cond;
    signals of = signals_of(st, s);
    *signs |= of.come.n || of.wait.n || of.numbers;
    return role ? rehearse(&t, s, NULL) : t;
}

/* One part of it as the role runs it: what its threads share with others of the role is ordered there. */
static const tn_stmt *
write_role(sync *st, const tn_stmt *s, const tn_expr *cond, uint32_t role, accesses *all)
{
    sync t = *st;
    t.role = role;
    t.pending = t.lead = (accesses){0};
    t.inserted = t.nested = 0;
    if (t.n_conditions < MAX_CONDITIONS)
        t.conditions[t.n_conditions++] = cond;
    collect(&t, s, all);
    const tn_stmt *out = s && role ? walk(&t, s) : s;
    st->inserted += t.inserted;
    st->nested += t.inserted;
    st->failed |= t.failed;
    return out;
}

static const tn_stmt *
unordered(sync *st, const tn_if_stmt *i)
{
    tn_error(st->ctx, TN_NODE(i)->loc, TNB_INVALID,
             "'%s': warps of two roles meet in shared memory, and no barrier orders them",
             st->func);
    tnb_diag_hint(tn_diags(st->ctx),
                  "let one role arrive at a barrier in shared memory (T.ptx_mbarrier_arrive) for "
                  "which the other waits (T.ptx_mbarrier_try_wait), or put T.ptx_bar_sync in both");
    st->failed = true;
    return TN_NODE(i);
}

/* Outside, a condition with roles is a statement without a barrier that touches all that they touch. */
static const tn_stmt *
roles(sync *st, const tn_if_stmt *i, uint32_t then_role)
{
    uint32_t all = st->role;
    (void)tnk_roles_where(st->ctx, &st->threads->warps, tn_bool(st->ctx, true), st->role, &all);
    const tn_expr *other = tn_not(st->ctx, i->cond);
    bool signs = false;
    sync a = in_role(st, i->then_case, i->cond, then_role, &signs),
         b = in_role(st, i->else_case, other, all & ~then_role, &signs);
    st->failed |= a.failed || b.failed;
    if (st->failed)
        return TN_NODE(i);
    if (!signs && !a.inserted && !b.inserted && !a.barrier && !b.barrier)
        return leaf(st, TN_NODE(i));
    accesses of[3];
    memset(of, 0, sizeof of);
    sync part = *st;
    part.inserted = part.nested = 0;
    const tn_stmt *then_case = write_role(&part, i->then_case, i->cond, then_role, &of[0]),
                  *else_case = i->else_case ? write_role(&part, i->else_case, other,
                                                         all & ~then_role, &of[1])
                                            : NULL;
    signals x = signals_of(st, i->then_case), y = signals_of(st, i->else_case);
    if (conflict(st, &of[0], &of[1], NULL) && !are_ordered(&x, &y))
        return unordered(st, i);
    collect(st, i->cond, &of[2]);
    const tn_stmt *s = tn_if_stmt_of(st->ctx, i->cond, then_case, else_case);
    bool before = false;
    for (int k = 0; k < 3; k++)
        before |= conflict(st, &st->pending, &of[k], NULL);
    if (before) {
        passed(st);
        s = behind_barrier(st, s);
    }
    for (int k = 0; k < 3; k++) {
        if (!st->barrier)
            join(st, &st->lead, &of[k]);
        join(st, &st->pending, &of[k]);
    }
    st->inserted += part.inserted;
    st->nested += part.inserted;
    st->failed |= part.failed;
    return s;
}

/* The warps that the condition picks, where barriers with a number may hold them together. */
static bool
is_role(sync *st, const tn_expr *cond, uint32_t *role)
{
    thread_indices *t = st->threads;
    if (!t->named || st->guards)
        return false;
    tn_rewriter rw = {.ctx = st->ctx, .user = t, .pre = narrowed};
    return tnk_roles_where(st->ctx, &t->warps, tn_rewrite(&rw, tn_subst(st->ctx, cond, &t->loops)),
                           st->role, role);
}

static const tn_stmt *
branch(sync *st, const tn_if_stmt *i)
{
    const tn_stmt *s = TN_NODE(i);
    bool some = differs(st, i->cond);
    uint32_t outside = st->n_conditions, role;
    if (some && is_role(st, i->cond, &role))
        return roles(st, i, role);
    st->guards += some;
    if (outside < MAX_CONDITIONS)
        st->conditions[st->n_conditions++] = i->cond;
    sync a = rehearse(st, i->then_case, NULL);
    st->n_conditions = outside;
    sync b = rehearse(st, i->else_case, NULL);
    st->guards -= some;
    st->failed |= a.failed || b.failed;
    if (st->failed)
        return s;
    bool inside = a.inserted || b.inserted || a.barrier || b.barrier;
    if (!inside)
        return leaf(st, s);
    if (some)
        return divergence(st, s);
    accesses cond = {0};
    collect(st, i->cond, &cond);
    bool before = conflict(st, &st->pending, &a.lead, NULL) ||
                  conflict(st, &st->pending, &b.lead, NULL) ||
                  conflict(st, &st->pending, &cond, NULL);
    if (!st->barrier) {
        join(st, &st->lead, &cond);
        join(st, &st->lead, &a.lead);
        join(st, &st->lead, &b.lead);
    }
    if (before)
        passed(st);
    join(st, &st->pending, &cond);
    sync x = *st, y = *st;
    x.pending = y.pending = (accesses){0};
    const tn_stmt *then_case = walk(&x, i->then_case);
    const tn_stmt *else_case = i->else_case ? walk(&y, i->else_case) : NULL;
    join(st, &st->pending, &x.pending);
    join(st, &st->pending, &y.pending);
    st->barrier |= a.barrier || b.barrier;
    st->inserted += 1;
    st->nested += !a.barrier && !b.barrier;
    s = tn_if_stmt_of(st->ctx, i->cond, then_case, else_case);
    return before ? behind_barrier(st, s) : s;
}

static const tn_stmt *
walk(sync *st, const tn_stmt *s)
{
    if (!s || st->failed)
        return s;
    if (is_barrier(s)) {
        if (st->guards || st->role)
            return divergence(st, s);
        passed(st);
        return s;
    }
    if (!st->guards && tnk_meets_role(s, tnk_roles_threads(&st->threads->warps, st->role))) {
        passed(st);
        return s;
    }
    const tn_bind *bind = tn_as_bind(s);
    if (bind && differs(st, bind->value))
        tnb_ptrmap_set(&st->threads->divergent, bind->var, bind->var);
    if (!is_concerned(s))
        return s;
    switch ((int)s->kind) {
    case TN_KIND_SEQ: {
        const tn_seq *q = tn_as_seq(s);
        TNB_VEC(const tn_stmt *) v = {0};
        bool changed = false;
        for (uint32_t i = 0; i < q->stmts.n; i++) {
            TNB_PUSH(tn_scratch(st->ctx), v, walk(st, q->stmts.at[i]));
            changed |= v.at[i] != q->stmts.at[i];
        }
        return changed ? tnk_seq(st->ctx, v.at, v.n) : s;
    }
    case TN_KIND_FOR:
        return loop(st, tn_as_for_loop(s));
    case TN_KIND_IF_STMT:
        return branch(st, tn_as_if_stmt(s));
    case TN_KIND_ATTR_STMT: {
        const tn_attr_stmt *a = tn_as_attr_stmt(s);
        const tn_iter_var *iv = tn_as_iter_var(a->node);
        if (iv && (!strcmp(a->key, "virtual_thread") ||
                   (!strcmp(a->key, "thread_extent") && tnk_is_vthread(iv->thread_tag))))
            return walk(st,
                        tn_for_of(st->ctx, iv->var, tn_int_imm_of(st->ctx, tn_dtype_of(iv->var), 0),
                                  tn_cast_to(st->ctx, tn_dtype_of(iv->var), a->value),
                                  TN_FOR_THREAD_BINDING, "vthread", NULL, a->body));
        const tn_stmt *body = walk(st, a->body);
        return body == a->body ? s : tn_attr_stmt_of(st->ctx, a->node, a->key, a->value, body);
    }
    case TN_KIND_WHILE: {
        const tn_while_loop *w = tn_as_while_loop(s);
        return repeated(st, s, w->body, w->cond, differs(st, w->cond));
    }
    default:
        return leaf(st, s);
    }
}

static tn_walk_step
find_threads(void *user, const tn_node *n)
{
    const tn_for_loop *f = tn_as_for_loop(n);
    if (f && f->for_kind == TN_FOR_THREAD_BINDING && !tnk_is_vthread(f->thread_tag))
        enter_thread(user, f);
    return tn_is_scalar(n) ? TN_WALK_SKIP : TN_WALK_ON;
}

/* The threads of all loops, and the barriers with a number that the program uses. */
static void
find_roles(sync *st, const tn_pass_ctx *pc, const tn_stmt *body)
{
    thread_indices *t = st->threads;
    t->most = (uint32_t)tnk_target_int(pc, "named_barriers", 0);
    t->most = t->most < MAX_NUMBERS ? t->most : MAX_NUMBERS - 1;
    t->named = t->most > 0 && tnk_target_int(pc, "thread_warp_size", 1) == 32;
    if (!t->named)
        return;
    tn_walk(body, 0, find_threads, NULL, st);
    uint32_t used = signals_of(st, body).numbers;
    for (uint32_t k = 0; k < MAX_NUMBERS; k++)
        t->roles[k] = used >> k & 1 ? UINT32_MAX : 0;
}

static const tn_node *
sync_func(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
          void *user)
{
    (void)m;
    (void)user;
    const tn_prim_func *f = tn_as_prim_func(func);
    sync st = {.ctx = pc->ctx, .func = name};
    st.threads = TNB_NEW(tn_scratch(pc->ctx), thread_indices);
    tnb_ptrmap_init(&st.threads->loops, tn_scratch(pc->ctx));
    tnb_ptrmap_init(&st.threads->divergent, tn_scratch(pc->ctx));
    find_roles(&st, pc, f->body);
    const tn_stmt *body = walk(&st, f->body);
    return st.failed || tn_is_error(body) ? NULL : tnk_func_with_body(pc->ctx, f, body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_PRIM_FUNCS, sync_func, NULL);
}

const tn_pass tnk_pass_thread_sync = {
    .base.size = sizeof(tn_pass),
    .base.name = "ThreadSync",
    .base.doc = "Inserts barriers between conflicting accesses of shared memory.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
