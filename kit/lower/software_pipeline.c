/* SPDX-License-Identifier: Apache-2.0 */
/* InjectSoftwarePipeline: the statements of a loop run for different iterations at the same time.
 *
 *     for i in T.serial(16, annotations={"software_pipeline_stage": [0, 1],      B = T.alloc_buffer((2, 16), scope="shared")
 *                                        "software_pipeline_order": [0, 1]}):    B[0, t] = A[0, t]
 *         B = T.alloc_buffer((16,), scope="shared")                              for i in range(15):
 *         B[t] = A[i, t]                                                  =>         B[(i + 1) % 2, t] = A[i + 1, t]
 *         C[i, t] = B[t]                                                             C[i, t] = B[i % 2, t]
 *                                                                                C[15, t] = B[1, t]
 *
 * A statement of stage s works for the iteration s iterations ago; the prologue starts the first iterations, the epilogue completes the last ones.
 * `order` is that of the statements in an iteration of the new loop. Buffers of the loop (allocated in it, or outside and used in it
 * alone: iterations hand nothing on in them) have a version for each iteration that is under way. Statements of software_pipeline_async_stages
 * stand in async_scope, their groups in async_commit_queue_scope; what reads their results stands in async_wait_queue_scope with the
 * number of groups that may still be under way (InjectPTXAsyncCopy makes instructions of them).
 *
 * Barriers (ThreadSync) are no statements of the pipeline. Where the loop has some, each iteration of the new one has one, in front and
 * behind its wait: iterations apart meet there. Where statements of one iteration would meet in one version, the loop stays as it was.
 * Needs: no blocks. (Upstream keeps blocks here; without them its results are these.)
 */
#include "lower.h"

static const char stage_key[] = "software_pipeline_stage", order_key[] = "software_pipeline_order",
                  async_key[] = "software_pipeline_async_stages";

enum { MAX_PARTS = 32, MAX_BUFFERS = 64, MAX_STAGES = 16, MAX_GROUPS = MAX_PARTS };

typedef struct part {
    const tn_stmt *s; /* NULL: the barrier of each iteration */
    int64_t stage;
    bool async;
    int group; /* of the asynchronous ones; -1 */
} part;

typedef struct version {
    const tn_node *old, *new_;
    int64_t n;
    uint32_t writers, readers; /* parts, as bits, in the order given */
} version;

typedef struct pipeline {
    tn_ctx *ctx;
    tn_arith *arith;
    const tn_for_loop *loop;
    const char *name;
    part in[MAX_PARTS], by_order[MAX_PARTS + 1];
    int64_t order[MAX_PARTS];
    uint32_t n, n_ordered;
    bool barriers, first, last; /* there are some; one stands in front, behind */
    int64_t depth;              /* the last stage */
    version v[MAX_BUFFERS];
    uint32_t n_buffers;
    const tn_node *allocs[MAX_BUFFERS]; /* in the loop */
    uint32_t n_allocs;
    const tn_expr
        *head[MAX_STAGES]; /* last iteration whose copies a stage has started; NULL: not known */
} pipeline;

static bool
is_barrier(const tn_stmt *s)
{
    const tn_evaluate *e = tn_as_evaluate(s);
    return e && tn_is_intrin(e->value, TN_INTRIN_tvm_storage_sync);
}

static bool
wrong(const pipeline *p, const char *why)
{
    tn_error(p->ctx, TN_NODE(p->loop)->loc, TNB_INVALID, "the software pipeline of loop '%s': %s",
             tn_var_name(p->loop->var), why);
    return false;
}

/* ---- reading the annotations ---- */

static bool
annotated(const tn_for_loop *f)
{
    return tn_dict_get(f->annotations, stage_key) || tn_dict_get(f->annotations, order_key);
}

static bool
take_apart(pipeline *p)
{
    tn_ctx *ctx = p->ctx;
    const tn_node *a = p->loop->annotations;
    int64_t stage[MAX_PARTS], order[MAX_PARTS], async[MAX_PARTS];
    if (!tn_dict_get(a, order_key) || !tn_dict_get(a, stage_key))
        return wrong(p, tn_strf(ctx, "%s is not given",
                                tn_dict_get(a, order_key) ? stage_key : order_key));
    int n = tn_dict_ints(a, stage_key, stage, MAX_PARTS),
        m = tn_dict_ints(a, order_key, order, MAX_PARTS),
        k = tn_dict_ints(a, async_key, async, MAX_PARTS);
    tn_list body = tn_as_seq(p->loop->body) ? tn_as_seq(p->loop->body)->stmts
                                            : tn_list_of(ctx, &p->loop->body, 1);
    for (uint32_t i = 0; i < body.n; i++) {
        const tn_stmt *s = body.at[i];
        if (s->kind == TN_KIND_ALLOC_BUFFER && p->n_allocs < MAX_BUFFERS) {
            p->allocs[p->n_allocs++] = s;
        } else if (is_barrier(s)) {
            p->barriers = true;
            p->first |= p->n == 0;
            p->last = i + 1 == body.n;
        } else if (p->n < MAX_PARTS) {
            p->in[p->n++].s = s;
        } else {
            return wrong(p, "it has too many statements");
        }
    }
    if (n != (int)p->n || m != n)
        return wrong(p, tn_strf(ctx, "it has %u statements, %s %d and %s %d numbers", p->n,
                                stage_key, n, order_key, m));
    for (uint32_t i = 0; i < p->n; i++) {
        if (stage[i] < 0 || stage[i] >= MAX_STAGES || order[i] < 0 || order[i] >= n)
            return wrong(p, "a stage or a place is out of range");
        if (p->by_order[order[i]].s)
            return wrong(p, "two of its statements have the same place in software_pipeline_order");
        p->in[i].stage = stage[i];
        p->order[i] = order[i];
        for (int j = 0; j < k; j++)
            p->in[i].async |= async[j] == stage[i];
        p->by_order[order[i]] = p->in[i];
        p->depth = stage[i] > p->depth ? stage[i] : p->depth;
    }
    p->n_ordered = p->n;
    return true;
}

/* ---- which statement touches which buffer ---- */

typedef struct touch {
    pipeline *p;
    uint32_t at;
    bool writes; /* below a call that may write what it has the address of */
} touch;

static version *
version_of(pipeline *p, const tn_node *buffer)
{
    for (uint32_t i = 0; i < p->n_buffers; i++)
        if (p->v[i].old == buffer)
            return &p->v[i];
    if (p->n_buffers == MAX_BUFFERS)
        return NULL;
    p->v[p->n_buffers] = (version){.old = buffer, .n = 1};
    return &p->v[p->n_buffers++];
}

static tn_walk_step
note(void *user, const tn_node *n)
{
    touch *t = user;
    tn_list idx;
    const tn_node *buffer = tnk_accessed(n, &idx);
    version *v = buffer ? version_of(t->p, buffer) : NULL;
    bool address = tn_is_intrin(n, TN_INTRIN_address_of);
    const tn_buffer_load *l = address ? tn_as_buffer_load(tn_as_call(n)->args.at[0]) : NULL;
    if (l && (v = version_of(t->p, l->buffer)) &&
        strncmp(tn_as_buffer(l->buffer)->scope, "shared", 6))
        v->writers |= 1u << t->at; /* registers of a matrix instruction */
    if (v && n->kind == TN_KIND_BUFFER_STORE)
        v->writers |= 1u << t->at;
    else if (v)
        v->readers |= 1u << t->at;
    return TN_WALK_ON;
}

/* A statement may depend on those before it of an earlier stage, or of its own in the same order. */
static bool
check_order(pipeline *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        touch t = {p, i, false};
        tn_walk(p->in[i].s, 0, note, NULL, &t);
    }
    for (uint32_t b = 0; b < p->n_buffers; b++)
        for (uint32_t i = 0; i < p->n; i++)
            for (uint32_t j = i + 1; j < p->n; j++) {
                const part *x = &p->in[i], *y = &p->in[j];
                if (!(p->v[b].writers >> i & 1) || !(p->v[b].readers >> j & 1))
                    continue;
                if (x->stage > y->stage)
                    return wrong(p, tn_strf(p->ctx,
                                            "a statement of stage %lld reads '%s', which one of "
                                            "the later stage %lld writes",
                                            (long long)y->stage, tn_as_buffer(p->v[b].old)->name,
                                            (long long)x->stage));
                if (x->stage == y->stage && p->order[i] > p->order[j])
                    return wrong(
                        p, tn_strf(p->ctx,
                                   "two statements of one stage that meet in '%s' change places",
                                   tn_as_buffer(p->v[b].old)->name));
            }
    return true;
}

static bool
is_shared(const tn_node *buffer)
{
    const char *scope = tn_as_buffer(buffer)->scope;
    return scope && !strncmp(scope, "shared", 6);
}

/* Turns under way between the first write and the last read. Two are needed only where an iteration writes before an earlier one's read. */
static int64_t
count_versions(const pipeline *p, const version *v)
{
    int64_t def = INT64_MAX, use = -1;
    bool before = false;
    for (uint32_t i = 0; i < p->n; i++) {
        if (v->writers >> i & 1 && p->in[i].stage < def)
            def = p->in[i].stage;
        if (v->readers >> i & 1 && p->in[i].stage > use)
            use = p->in[i].stage;
        for (uint32_t j = 0; j < p->n; j++)
            before |= (v->writers >> i & 1) && (v->readers >> j & 1) && p->order[i] < p->order[j] &&
                      p->in[i].stage < p->in[j].stage;
    }
    if (def == INT64_MAX || use < def)
        return 1;
    before |= p->barriers && is_shared(v->old);
    return use - def == 1 && !before ? 1 : use - def + 1;
}

/* Without a barrier between them, two threads' statements must not meet in one version. */
static bool
meet_apart(const pipeline *p, const version *v)
{
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t j = 0; j < p->n; j++)
            if (i != j && v->writers >> i & 1 && (v->readers | v->writers) >> j & 1 &&
                (p->in[i].stage - p->in[j].stage) % v->n == 0)
                return false;
    return true;
}

static const tn_node *
with_versions(tn_ctx *ctx, const tn_node *buffer, int64_t n)
{
    tn_buffer b = *tn_as_buffer(buffer);
    tnb_dtype d = b.shape.n ? tn_dtype_of(b.shape.at[0]) : TNB_I64;
    const tn_expr *count = tn_int_imm_of(ctx, d, n);
    if (b.strides.n) {
        const tn_expr *s = tn_mul(ctx, b.strides.at[0], b.shape.at[0]);
        tn_list strides = tn_list_of(ctx, &s, 1);
        for (uint32_t i = 0; i < b.strides.n; i++)
            strides = tn_list_append(ctx, strides, b.strides.at[i]);
        b.strides = strides;
    }
    tn_list shape = tn_list_of(ctx, &count, 1);
    for (uint32_t i = 0; i < b.shape.n; i++)
        shape = tn_list_append(ctx, shape, b.shape.at[i]);
    b.shape = shape;
    return tn_buffer_of(ctx, &b);
}

/* ---- writing a range of iterations ---- */

typedef struct emitted {
    const part *p;
    const tn_stmt *s;
    const tn_expr *iteration, *cond; /* cond NULL: always */
    int wait_for;                    /* the stage whose results it waits for; -1: none */
    const tn_expr *in_flight;
} emitted;

typedef struct place {
    pipeline *p;
    const tn_expr *iteration;
} place;

static const tn_node *
choose_version(tn_rewriter *r, const tn_node *n)
{
    const place *at = r->user;
    tn_list idx;
    const tn_node *buffer = tnk_accessed(n, &idx);
    const version *v = NULL;
    for (uint32_t i = 0; buffer && i < at->p->n_buffers; i++)
        if (at->p->v[i].old == buffer && at->p->v[i].n > 1)
            v = &at->p->v[i];
    if (!v)
        return NULL;
    tnb_dtype d = idx.n ? tn_dtype_of(idx.at[0]) : TNB_I64;
    d.lanes = 1;
    const tn_expr *from = tn_sub(r->ctx, at->iteration, at->p->loop->min),
                  *is = tn_cast_to(r->ctx, d,
                                   tn_simplify(at->p->arith,
                                               tn_floormod(r->ctx, from,
                                                           tn_int_imm_of(r->ctx, tn_dtype_of(from),
                                                                         v->n))));
    tn_list all = tn_list_of(r->ctx, &is, 1);
    for (uint32_t i = 0; i < idx.n; i++)
        all = tn_list_append(r->ctx, all, idx.at[i]);
    if (n->kind == TN_KIND_BUFFER_LOAD)
        return tn_buffer_load_of(r->ctx, v->new_, all);
    return tn_buffer_store_of(r->ctx, v->new_, ((const tn_buffer_store *)n)->value, all);
}

static const tn_stmt *
for_iteration(pipeline *p, const part *x, const tn_expr *iteration)
{
    if (!x->s) {
        const tn_expr *scope = tn_string(p->ctx, "shared");
        return tn_evaluate_of(p->ctx, tn_intrin(p->ctx, TN_INTRIN_tvm_storage_sync,
                                                tn_list_of(p->ctx, &scope, 1)));
    }
    const tn_stmt *s = tn_fresh_copy(p->ctx, x->s, NULL);
    place at = {p, iteration};
    tn_rewriter r = {.ctx = p->ctx, .user = &at, .post = choose_version};
    return tn_subst1(p->ctx, tn_rewrite(&r, s), p->loop->var, iteration);
}

static uint32_t
index_of(const pipeline *p, const part *x)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (p->in[i].s == x->s)
            return i;
    return UINT32_MAX;
}

/* Whether x reads what an asynchronous statement y writes; the barrier of an iteration stands for all readers. */
static bool
reads_of(const pipeline *p, const part *x, const part *y)
{
    uint32_t i = index_of(p, x), j = index_of(p, y);
    for (uint32_t b = 0; b < p->n_buffers && y->async; b++)
        if (p->v[b].writers >> j & 1 &&
            (x->s ? i != j && p->v[b].readers >> i & 1 : p->v[b].readers != 0))
            return true;
    return false;
}

/* The groups of asynchronous statements: neighbours in order. Those of the prologue are as
 * many, though nothing is read there yet: waits count them. */
static void
find_groups(pipeline *p)
{
    int groups = 0;
    for (uint32_t i = 0; i < p->n_ordered; i++) {
        part *x = &p->by_order[i], *before = i ? &p->by_order[i - 1] : NULL;
        bool next = before && before->async && before->stage == x->stage;
        x->group = !x->async ? -1 : next ? before->group : groups++;
    }
}

/* For each asynchronous stage, the first statement that reads its results waits: the groups that may be under way are those of iterations
 * behind the one that is read. */
static void
find_waits(pipeline *p, emitted *e, uint32_t n)
{
    tn_ctx *ctx = p->ctx;
    for (int stage = 0; stage < MAX_STAGES; stage++) {
        emitted *first = NULL;
        for (uint32_t i = 0; i < n; i++) {
            bool counted[MAX_GROUPS] = {false}, reads = false, known = true, any = false;
            const tn_expr *sum = NULL;
            for (uint32_t w = 0; w < p->n; w++)
                reads |= p->in[w].async && p->in[w].stage == stage && e[i].p->stage >= stage &&
                         reads_of(p, e[i].p, &p->in[w]);
            if (!reads)
                continue;
            for (uint32_t j = 0; j < n; j++) {
                if (e[j].p->group < 0 || e[j].p->stage != stage)
                    continue;
                any = true;
                if (counted[e[j].p->group] || !reads_of(p, e[i].p, e[j].p))
                    continue;
                counted[e[j].p->group] = true;
                const tn_expr *ahead = tn_sub(ctx, e[j].iteration, e[i].iteration);
                if (j > i)
                    ahead = tn_sub(ctx, ahead, tn_int_imm_of(ctx, tn_dtype_of(ahead), 1));
                known &= !e[j].cond;
                sum = sum ? tn_add(ctx, sum, ahead) : ahead;
            }
            if (!any) {
                known = p->head[stage] != NULL;
                sum = known ? tn_sub(ctx, p->head[stage], e[i].iteration) : NULL;
            }
            const tn_expr *zero = tn_int_imm_of(ctx, tn_dtype_of(e[i].iteration), 0);
            sum = known && sum ? tn_simplify(p->arith, sum) : zero;
            if (!tn_prove(p->arith, tn_ge_of(ctx, sum, zero)))
                sum = tn_max(ctx, sum, zero);
            if (!first) {
                first = &e[i];
                first->wait_for = stage;
                first->in_flight = sum;
            } else if (tn_prove(p->arith, tn_lt_of(ctx, sum, first->in_flight))) {
                first->in_flight = sum;
            }
        }
    }
}

static const tn_stmt *
attribute(tn_ctx *ctx, const char *key, const tn_expr *value, const tn_stmt *s)
{
    return tn_attr_stmt_of(ctx, tn_int_imm_of(ctx, TNB_I32, 0), key, value, s);
}

/* The statements of an iteration, in their scopes and conditions. */
static const tn_stmt *
put_together(pipeline *p, emitted *e, uint32_t n)
{
    tn_ctx *ctx = p->ctx;
    TNB_VEC(const tn_stmt *) all = {0};
    for (uint32_t i = 0; i < n;) {
        TNB_VEC(const tn_stmt *) group = {0};
        uint32_t from = i;
        do {
            const tn_stmt *s = e[i].s;
            if (e[i].p->async)
                s = attribute(ctx, "async_scope", tn_int_imm_of(ctx, TNB_I32, 1), s);
            if (e[i].wait_for >= 0)
                s = attribute(ctx, "async_wait_queue_scope",
                              tn_int_imm_of(ctx, TNB_I32, e[i].wait_for),
                              attribute(ctx, "async_wait_inflight_count", e[i].in_flight, s));
            TNB_PUSH(tn_scratch(ctx), group, s);
            i++;
        } while (i < n && e[i].p->group >= 0 && e[i].p->group == e[from].p->group);
        const tn_stmt *s = tn_seq_of(ctx, tn_list_of(ctx, group.at, group.n));
        if (e[from].p->group >= 0)
            s = attribute(ctx, "async_commit_queue_scope",
                          tn_int_imm_of(ctx, TNB_I32, e[from].p->stage), s);
        if (e[from].cond)
            s = tn_if_stmt_of(ctx, e[from].cond, s, NULL);
        TNB_PUSH(tn_scratch(ctx), all, s);
    }
    return tn_seq_of(ctx, tn_list_of(ctx, all.at, all.n));
}

/* Turns start .. end - 1 of the pipeline; least: a bound of the iterations where the loop may be shorter than the pipeline; NULL: none. */
static const tn_stmt *
write_range(pipeline *p, const tn_expr *start, const tn_expr *end, bool unroll,
            const tn_expr *least)
{
    tn_ctx *ctx = p->ctx;
    const tn_for_loop *f = p->loop;
    tnb_dtype d = tn_dtype_of(f->var);
    const tn_expr *extent = tn_simplify(p->arith, tn_sub(ctx, end, start)),
                  *stop = tn_add(ctx, f->min, f->extent);
    if (tn_prove(p->arith, tn_le_of(ctx, extent, tn_int_imm_of(ctx, d, 0))))
        return tnk_nothing(ctx);
    bool unit = tn_is_int_const(extent, 1);
    const tn_expr *var = unit ? NULL : tn_var_dtype(ctx, tn_var_name(f->var), d);
    const tn_expr *now =
        unit ? start : tn_simplify(p->arith, tn_add(ctx, var, tn_sub(ctx, start, f->min)));
    uint32_t mark = tn_arith_push(p->arith, NULL);
    if (var)
        tn_arith_range(p->arith, var, f->min, extent);
    emitted e[MAX_PARTS + 1] = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_ordered; i++) {
        const part *x = &p->by_order[i];
        const tn_expr *iteration =
            tn_simplify(p->arith, tn_sub(ctx, now, tn_int_imm_of(ctx, d, x->stage)));
        const tn_expr *cond = tn_and(ctx, tn_cmp(ctx, TN_KIND_LE, f->min, iteration),
                                     tn_cmp(ctx, TN_KIND_LT, iteration, stop));
        if (least)
            cond = tn_and(ctx, cond, tn_cmp(ctx, TN_KIND_GE, now, least));
        cond = tn_simplify(p->arith, cond);
        if (tn_is_int_const(cond, 0))
            continue;
        e[n++] = (emitted){.p = x,
                           .s = for_iteration(p, x, iteration),
                           .iteration = iteration,
                           .cond = tn_is_int_const(cond, 1) ? NULL : cond,
                           .wait_for = -1};
    }
    find_waits(p, e, n);
    const tn_stmt *s = n ? put_together(p, e, n) : tnk_nothing(ctx);
    for (int stage = 0; stage < MAX_STAGES; stage++)
        for (uint32_t i = 0; i < n; i++)
            if (e[i].p->group >= 0 && e[i].p->stage == stage) {
                /* as many iterations more as there are here */
                p->head[stage] = p->head[stage] && !e[i].cond
                                     ? tn_simplify(p->arith, tn_add(ctx, p->head[stage], extent))
                                     : NULL;
                break;
            }
    tn_arith_pop(p->arith, mark);
    if (!var || !n)
        return s;
    const tn_node *rest = f->annotations;
    rest = tn_dict_set(ctx, rest, stage_key, NULL);
    rest = tn_dict_set(ctx, rest, order_key, NULL);
    rest = tn_dict_set(ctx, rest, async_key, NULL);
    const tn_dict *left = tn_as_dict(rest);
    return tn_for_of(ctx, var, f->min, extent, unroll ? TN_FOR_UNROLLED : (tn_for_kind)f->for_kind,
                     f->thread_tag, left && left->items.n ? rest : NULL, s);
}

static const tn_stmt *
barrier(pipeline *p, bool wanted)
{
    part none = {0};
    return wanted ? for_iteration(p, &none, NULL) : tnk_nothing(p->ctx);
}

static const tn_stmt *
write_all(pipeline *p)
{
    tn_ctx *ctx = p->ctx;
    const tn_for_loop *f = p->loop;
    tnb_dtype d = tn_dtype_of(f->var);
    const tn_expr *depth = tn_int_imm_of(ctx, d, p->depth), *begin = tn_add(ctx, f->min, depth),
                  *stop = tn_simplify(p->arith, tn_add(ctx, f->min, f->extent)), *least = NULL,
                  *tail = stop;
    for (int i = 0; i < MAX_STAGES; i++)
        p->head[i] = tn_simplify(p->arith, tn_sub(ctx, f->min, tn_int_imm_of(ctx, d, 1)));
    /* heads count from the loop's first iteration */
    const tn_stmt *s[5];
    s[0] = barrier(p, p->barriers && p->first);
    s[1] = write_range(p, f->min, begin, true, NULL);
    s[2] = write_range(p, begin, stop, false, NULL);
    if (p->depth > 1 && !tn_prove(p->arith, tn_ge_of(ctx, f->extent, depth))) {
        if (tn_is(tail, TN_KIND_INT_IMM))
            tail = tn_simplify(p->arith, tn_max(ctx, tail, begin));
        else
            least = begin;
    }
    s[3] = write_range(p, tail, tn_add(ctx, stop, depth), true, least);
    s[4] = barrier(p, p->barriers && p->last);
    return tnk_seq(ctx, s, 5);
}

/* ---- finding the loops ---- */

typedef struct injector {
    const char *name;
    tnb_ptrmap
        outside; /* buffers allocated outside of all pipelines -> version, once they have some */
    tnb_ptrmap uses; /* buffer -> the loop it is used in alone; itself: several */
    uint32_t within;
} injector;

/* The loop as it was, without a pipeline. */
static const tn_stmt *
plain(tn_ctx *ctx, const tn_for_loop *f)
{
    tn_for_loop copy = *f;
    const tn_node *a = tn_dict_set(ctx, f->annotations, stage_key, NULL);
    a = tn_dict_set(ctx, a, order_key, NULL);
    a = tn_dict_set(ctx, a, async_key, NULL);
    copy.annotations = tn_as_dict(a) && tn_as_dict(a)->items.n ? a : NULL;
    return tn_for_of(ctx, f->var, f->min, f->extent, (tn_for_kind)f->for_kind, f->thread_tag,
                     copy.annotations, f->body);
}

static bool
belongs(const pipeline *p, const injector *in, const tn_node *buffer)
{
    for (uint32_t i = 0; i < p->n_allocs; i++)
        if (tn_as_alloc_buffer(p->allocs[i])->buffer == buffer)
            return true;
    return tnb_ptrmap_get(&in->uses, buffer) == TN_NODE(p->loop);
}

static const tn_stmt *
inject(tnk_ranged *r, const tn_for_loop *f, const tn_for_loop *was)
{
    injector *in = r->user;
    tn_ctx *ctx = r->ctx;
    pipeline *p = TNB_NEW(tn_scratch(ctx), pipeline);
    *p = (pipeline){.ctx = ctx, .arith = r->arith, .loop = f, .name = in->name};
    if (!take_apart(p) || !check_order(p))
        return tn_error_node(ctx);
    p->loop = was;
    for (uint32_t i = 0; i < p->n_buffers; i++) {
        version *v = &p->v[i];
        if (belongs(p, in, v->old))
            v->n = count_versions(p, v);
        if (p->barriers && is_shared(v->old) && !meet_apart(p, v))
            return plain(ctx, f);
    }
    p->loop = f;
    if (p->barriers) {
        part all = {.stage = INT64_MAX};
        for (uint32_t i = 0; i < p->n; i++)
            for (uint32_t b = 0; b < p->n_buffers; b++)
                if (is_shared(p->v[b].old) && p->v[b].readers >> i & 1 &&
                    p->in[i].stage < all.stage)
                    all.stage = p->in[i].stage;
        if (all.stage == INT64_MAX || all.stage == 0)
            return plain(ctx, f);
        memmove(p->by_order + 1, p->by_order, p->n * sizeof *p->by_order);
        p->by_order[0] = all;
        p->n_ordered++;
    }
    find_groups(p);
    const tn_stmt *s[MAX_BUFFERS + 1];
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_buffers; i++)
        if (p->v[i].n > 1)
            p->v[i].new_ = with_versions(ctx, p->v[i].old, p->v[i].n);
    for (uint32_t i = 0; i < p->n_allocs; i++) {
        const tn_alloc_buffer *a = tn_as_alloc_buffer(p->allocs[i]);
        const version *v = version_of(p, a->buffer);
        s[n++] = v && v->n > 1 ? tn_alloc_buffer_of(ctx, v->new_, a->annotations) : p->allocs[i];
    }
    for (uint32_t i = 0; i < p->n_buffers; i++)
        if (p->v[i].n > 1 && tnb_ptrmap_get(&in->uses, p->v[i].old) == TN_NODE(was))
            tnb_ptrmap_set(&in->outside, p->v[i].old, p->v[i].new_);
    s[n++] = write_all(p);
    return tnk_seq(ctx, s, n);
}

static const tn_stmt *
pre(tnk_ranged *r, const tn_stmt *s)
{
    injector *in = r->user;
    const tn_for_loop *f = tn_as_for_loop(s);
    if (!f || !annotated(f))
        return NULL;
    uint32_t mark = tn_arith_push(r->arith, NULL);
    tn_arith_range(r->arith, f->var, f->min, f->extent);
    const tn_stmt *body = tnk_ranged_rewrite(r, f->body);
    tn_arith_pop(r->arith, mark);
    if (tn_is_error(body))
        return body;
    (void)in;
    const tn_stmt *now = tnk_for_with(r->ctx, f, f->min, f->extent, body);
    return inject(r, tn_as_for_loop(now), f);
}

/* ---- buffers that are allocated outside and used in one pipeline ---- */

typedef struct user_search {
    injector *in;
    const tn_node *loop; /* the outermost pipeline around; NULL: none */
    tnb_ptrmap inside;
    tn_ctx *ctx;
} user_search;

static tn_walk_step
find_users(void *user, const tn_node *n)
{
    user_search *u = user;
    const tn_for_loop *f = tn_as_for_loop(n);
    if (f && annotated(f) && !u->loop) {
        user_search below = *u;
        below.loop = n;
        tnb_ptrmap_init(&below.inside, tn_scratch(u->ctx));
        tn_walk(f->body, 0, find_users, NULL, &below);
        return TN_WALK_SKIP;
    }
    if (n->kind == TN_KIND_ALLOC_BUFFER && u->loop)
        tnb_ptrmap_set(&u->inside, tn_as_alloc_buffer(n)->buffer, n);
    tn_list idx;
    const tn_node *buffer = tnk_accessed(n, &idx);
    if (!buffer || tnb_ptrmap_has(&u->inside, buffer))
        return TN_WALK_ON;
    const tn_node *now = u->loop ? u->loop : buffer, *before = tnb_ptrmap_get(&u->in->uses, buffer);
    tnb_ptrmap_set(&u->in->uses, buffer, !before || before == now ? now : buffer);
    return TN_WALK_ON;
}

static const tn_node *
allocate(tn_rewriter *r, const tn_node *n)
{
    const injector *in = r->user;
    const tn_alloc_buffer *a = n->kind == TN_KIND_ALLOC_BUFFER ? tn_as_alloc_buffer(n) : NULL;
    const tn_node *to = a ? tnb_ptrmap_get(&in->outside, a->buffer) : NULL;
    return to ? tn_alloc_buffer_of(r->ctx, to, a->annotations) : NULL;
}

static tn_walk_step
find(void *user, const tn_node *n)
{
    (void)user;
    const tn_for_loop *f = tn_as_for_loop(n);
    return f && annotated(f) ? TN_WALK_STOP : tn_is_scalar(n) ? TN_WALK_SKIP : TN_WALK_ON;
}

static const tn_stmt *
run_body(tn_ctx *ctx, const tn_pass_ctx *pc, const tn_prim_func *f)
{
    (void)pc;
    if (tn_walk(f->body, 0, find, NULL, NULL))
        return f->body;
    injector in = {.name = ""};
    tnk_ranged r = {.pre = pre, .user = &in};
    tnb_ptrmap_init(&in.outside, tn_scratch(ctx));
    tnb_ptrmap_init(&in.uses, tn_scratch(ctx));
    user_search u = {.in = &in, .ctx = ctx};
    tnb_ptrmap_init(&u.inside, tn_scratch(ctx));
    for (uint32_t i = 0; i < f->buffers.n; i++)
        if (f->buffers.at[i])
            tnb_ptrmap_set(&in.uses, f->buffers.at[i], f->buffers.at[i]);
    tn_walk(f->body, 0, find_users, NULL, &u);
    tnk_ranged_init(&r, ctx, f);
    const tn_stmt *body = tnk_ranged_rewrite(&r, f->body);
    tn_rewriter rw = {.ctx = ctx, .user = &in, .post = allocate};
    return tn_is_error(body) ? body : tn_rewrite(&rw, body);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tnk_map_bodies(pc, m, run_body);
}

const tn_pass tnk_pass_software_pipeline = {
    .base.size = sizeof(tn_pass),
    .base.name = "InjectSoftwarePipeline",
    .base.doc = "Runs the statements of annotated loops for several iterations at the same time.",
    .keeps = TN_KEEPS_BITS,
    .flags = TN_PASS_PARALLEL,
    .run = run,
};
