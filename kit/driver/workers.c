/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of a function as workers that exchange messages, on an evaluator.
 *
 * Each worker is a thread with a child context. One runs at a time, until it ends or waits for a
 * message; then the first that can go on is next. So nothing is shared at the same time, a run is
 * repeatable, and when nobody can go on, all who wait wait for ever.
 */
#include <pthread.h>
#include <stdlib.h>

#include "driver_private.h"
#include "tenon/core/walk.h"
#include "tenon/kit/workers.h"

enum { MAX_WORKERS = 1024 };

typedef enum worker_state { WORKER_READY, WORKER_WAITING, WORKER_DONE } worker_state;

typedef struct message {
    struct message *next;
    tnb_dtype dtype;
    int32_t ndim;
    uint64_t bytes;
    int64_t *shape;
    void *data;
} message;

typedef struct worker {
    struct group *group;
    uint32_t index;
    pthread_t thread;
    bool has_thread;
    tn_ctx *ctx;
    const char *stage; /* name of the function it runs; NULL: none yet */
    worker_state state;
    message *first, *last; /* sent by the worker before it */
    uint32_t sent, received;
    const tn_expr *result;
    uint64_t spent;
    bool out_of_budget;
} worker;

typedef struct group {
    tn_ctx *ctx;
    const tn_evaluator *ev;
    const tn_module *m;
    const char *func;
    const tn_expr *const *args;
    uint32_t n_args;
    tn_eval_options opt;
    worker w[MAX_WORKERS];
    uint32_t n;
    bool may_grow; /* to as many as the first worker finds stages */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t turn;  /* whose turn it is; n: nobody's, all have ended */
    int64_t failed; /* the first worker that failed; -1: none */
} group;

static tn_walk_step
look(void *user, const tn_node *n)
{
    const tn_extern_func *f = tn_as_extern_func(n);
    if (!f || (strcmp(f->name, "mlc.multi_gpu.DispatchFunctionByGroup") != 0 &&
               strcmp(f->name, "mlc.pipeline_parallel_stage_boundary") != 0))
        return TN_WALK_ON;
    *(bool *)user = true;
    return TN_WALK_STOP;
}

bool
tnk_needs_workers(const tn_module *m)
{
    bool found = false;
    for (uint32_t i = 0; i < m->names.n && !found; i++)
        if (tn_is(m->funcs.at[i], TN_KIND_FUNCTION))
            tn_walk(m->funcs.at[i], TN_WALK_ONCE, look, NULL, &found);
    return found;
}

/* ---- turns ---- */

static bool
can_go_on(const worker *w)
{
    return w->state == WORKER_READY || (w->state == WORKER_WAITING && w->first);
}

/* With the lock held: the next turn. */
static void
give_turn(group *g)
{
    uint32_t next = g->n;
    for (uint32_t i = 0; i < g->n && next == g->n; i++)
        if (can_go_on(&g->w[i]))
            next = i;
    for (uint32_t i = 0; i < g->n && next == g->n; i++)
        if (g->w[i].state == WORKER_WAITING)
            next = i; /* nobody can go on: it finds no message, and ends */
    g->turn = next;
    pthread_cond_broadcast(&g->changed);
}

static void
await_turn(group *g, uint32_t index)
{
    while (g->turn != index)
        pthread_cond_wait(&g->changed, &g->lock);
}

/* ---- messages ---- */

static void
free_message(message *m)
{
    if (!m)
        return;
    free(m->shape);
    free(m->data);
    free(m);
}

static message *
copy_message(const tn_data *d, const void *bytes)
{
    message *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    *m = (message){.dtype = d->dtype, .ndim = d->ndim, .bytes = d->n_bytes};
    m->shape = malloc(((size_t)d->ndim + 1) * sizeof *m->shape);
    m->data = malloc((size_t)d->n_bytes + 1);
    if (!m->shape || !m->data) {
        free_message(m);
        return NULL;
    }
    if (d->ndim)
        memcpy(m->shape, d->shape, (size_t)d->ndim * sizeof *m->shape);
    if (d->n_bytes)
        memcpy(m->data, bytes, (size_t)d->n_bytes);
    return m;
}

static const char *
describe(tn_ctx *ctx, tnb_dtype d, int32_t ndim, const int64_t *shape)
{
    const char *s = tn_strf(ctx, "%s[", tnb_dtype_print(d).s);
    for (int32_t i = 0; i < ndim; i++)
        s = tn_strf(ctx, "%s%s%lld", s, i ? ", " : "", (long long)shape[i]);
    return tn_strf(ctx, "%s]", s);
}

static const char *
name_of(const worker *w)
{
    return w->stage ? w->stage : w->group->func;
}

static const tn_expr *
send_message(worker *w, const tn_eval_call *c)
{
    group *g = w->group;
    const tn_constant *t = c->n == 1 ? tn_as_constant(c->args[0]) : NULL;
    const void *bytes = t ? tn_data_get(c->ctx, t->data) : NULL;
    if (!t || (!bytes && t->data->n_bytes)) {
        tn_error(c->ctx, c->loc, TNB_TYPE, "%s: worker %u (%s) sends something else than a tensor",
                 c->name, w->index, name_of(w));
        return NULL;
    }
    if (w->index + 1 >= g->n) {
        tn_error(c->ctx, c->loc, TNB_INVALID, "%s: worker %u (%s) is the last and sends to nobody",
                 c->name, w->index, name_of(w));
        return NULL;
    }
    message *m = copy_message(t->data, bytes);
    if (!m) {
        tn_error(c->ctx, c->loc, TNB_NO_MEMORY, "no memory for a message");
        return NULL;
    }
    worker *to = &g->w[w->index + 1];
    pthread_mutex_lock(&g->lock);
    *(to->last ? &to->last->next : &to->first) = m;
    to->last = m;
    w->sent++;
    pthread_mutex_unlock(&g->lock);
    return tn_tuple_of(c->ctx, (tn_list){0});
}

/* Every worker that waits, and what for: all of them are part of the knot. */
static void
report_stuck(worker *w, const tn_eval_call *c)
{
    group *g = w->group;
    tn_error(c->ctx, c->loc, TNB_INVALID,
             "deadlock: worker %u (%s) waits for message %u, and nobody can go on", w->index,
             name_of(w), w->received);
    for (uint32_t i = 0; i < g->n; i++)
        if (g->w[i].state == WORKER_DONE)
            tnb_diag_note(tn_diags(c->ctx), "worker %u (%s) has ended after sending %u", i,
                          name_of(&g->w[i]), g->w[i].sent);
        else if (i != w->index)
            tnb_diag_note(tn_diags(c->ctx), "worker %u (%s) waits for message %u", i,
                          name_of(&g->w[i]), g->w[i].received);
}

static message *
await_message(worker *w, const tn_eval_call *c)
{
    group *g = w->group;
    pthread_mutex_lock(&g->lock);
    if (!w->first) {
        w->state = WORKER_WAITING;
        give_turn(g);
        await_turn(g, w->index);
        w->state = w->first ? WORKER_READY : w->state;
    }
    message *m = w->first;
    if (m) {
        w->first = m->next;
        w->last = w->first ? w->last : NULL;
    } else {
        report_stuck(w, c);
    }
    pthread_mutex_unlock(&g->lock);
    return m;
}

static const tn_expr *
receive_message(worker *w, const tn_eval_call *c)
{
    const tn_constant *t = c->n ? tn_as_constant(c->args[c->n - 1]) : NULL;
    if (!t || !t->data->bytes) {
        tn_error(c->ctx, c->loc, TNB_TYPE, "%s: worker %u (%s) has no tensor to receive into",
                 c->name, w->index, name_of(w));
        return NULL;
    }
    message *m = await_message(w, c);
    if (!m)
        return NULL;
    const tn_data *d = t->data;
    bool fits =
        tnb_dtype_eq(m->dtype, d->dtype) && m->ndim == d->ndim && m->bytes == d->n_bytes &&
        (d->ndim == 0 || memcmp(m->shape, d->shape, (size_t)d->ndim * sizeof *d->shape) == 0);
    if (!fits)
        tn_error(c->ctx, c->loc, TNB_SHAPE,
                 "worker %u (%s) receives message %u as %s, but worker %u (%s) sends %s", w->index,
                 name_of(w), w->received, describe(c->ctx, d->dtype, d->ndim, d->shape),
                 w->index - 1, name_of(w - 1), describe(c->ctx, m->dtype, m->ndim, m->shape));
    else if (m->bytes)
        memcpy((void *)(uintptr_t)d->bytes, m->data, (size_t)m->bytes);
    free_message(m);
    c->written[c->n - 1] = true;
    w->received++;
    return fits ? tn_tuple_of(c->ctx, (tn_list){0}) : NULL;
}

/* ---- stages ---- */

static void *
work(void *user);

/* With the lock held: one more worker. */
static bool
add_worker(group *g)
{
    worker *w = &g->w[g->n];
    *w = (worker){.group = g, .index = g->n, .ctx = tn_ctx_child(g->ctx)};
    if (!w->ctx)
        return false;
    w->has_thread = pthread_create(&w->thread, NULL, work, w) == 0;
    if (!w->has_thread) {
        tn_ctx_free(w->ctx);
        w->ctx = NULL;
        return false;
    }
    g->n++;
    return true;
}

static bool
enough_workers(worker *w, const tn_eval_call *c, uint32_t stages)
{
    group *g = w->group;
    bool ok = stages > 0 && stages <= MAX_WORKERS;
    pthread_mutex_lock(&g->lock);
    while (ok && g->may_grow && g->n < stages)
        ok = add_worker(g);
    uint32_t have = g->n;
    ok = ok && have == stages;
    pthread_mutex_unlock(&g->lock);
    if (!ok)
        tn_error(c->ctx, c->loc, TNB_INVALID, "%s: the function has %u stages for %u workers",
                 c->name, stages, have);
    return ok;
}

static const tn_expr *
dispatch(worker *w, const tn_eval_call *c)
{
    const tn_tuple *stages = c->n == 1 ? tn_as_tuple(c->args[0]) : NULL;
    if (!stages) {
        tn_error(c->ctx, c->loc, TNB_TYPE, "%s: expected a tuple of stages", c->name);
        return NULL;
    }
    if (!enough_workers(w, c, stages->fields.n))
        return NULL;
    const tn_tuple *own = tn_as_tuple(stages->fields.at[w->index]);
    const tn_global_var *f = own && own->fields.n ? tn_as_global_var(own->fields.at[0]) : NULL;
    if (!f) {
        tn_error(c->ctx, c->loc, TNB_TYPE,
                 "%s: stage %u is no tuple of a function and its arguments", c->name, w->index);
        return NULL;
    }
    w->stage = f->name;
    return c->call(c, &f->base, own->fields.at + 1, own->fields.n - 1);
}

/* Where a function is not cut, a boundary hands on what it is given. */
static const tn_expr *
boundary(const tn_eval_call *c)
{
    return c->n == 1 ? c->args[0] : tn_tuple_of(c->ctx, tn_list_of(c->ctx, c->args, c->n));
}

static const tn_expr *
packed(void *user, const tn_eval_call *c, bool *known)
{
    worker *w = user;
    *known = true;
    if (strcmp(c->name, "mlc.multi_gpu.DispatchFunctionByGroup") == 0)
        return dispatch(w, c);
    if (strcmp(c->name, "runtime.disco.send_to_next_group") == 0)
        return send_message(w, c);
    if (strcmp(c->name, "runtime.disco.recv_from_prev_group") == 0)
        return receive_message(w, c);
    if (strcmp(c->name, "mlc.pipeline_parallel_stage_boundary") == 0)
        return boundary(c);
    *known = false;
    return w->group->opt.packed ? w->group->opt.packed(w->group->opt.packed_user, c, known) : NULL;
}

static void *
work(void *user)
{
    worker *w = user;
    group *g = w->group;
    tn_eval_options opt = g->opt;
    pthread_mutex_lock(&g->lock);
    await_turn(g, w->index);
    pthread_mutex_unlock(&g->lock);
    opt.packed = packed;
    opt.packed_user = w;
    w->result = TN_WITHIN(w->ctx, "evaluator", g->ev, NULL,
                          g->ev->run(g->ev->self, w->ctx, g->m, g->func, g->args, g->n_args, &opt));
    w->spent = opt.spent;
    w->out_of_budget = opt.out_of_budget;
    pthread_mutex_lock(&g->lock);
    if (!w->result && g->failed < 0)
        g->failed = w->index;
    w->state = WORKER_DONE;
    give_turn(g);
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

/* ---- the whole ---- */

static void
hand_over_errors(tn_ctx *to, tn_ctx *from)
{
    for (uint32_t i = 0; i < tnb_diags_count(tn_diags(from)); i++) {
        const tnb_diag *d = tnb_diags_get(tn_diags(from), i);
        tnb_report(tn_diags(to), d->severity, d->status, d->place, "%s", d->message);
        if (d->source_line)
            tnb_diag_source(tn_diags(to), d->source_line, strlen(d->source_line));
        for (uint32_t k = 0; k < d->n_notes; k++)
            tnb_diag_note(tn_diags(to), "%s", d->notes[k]);
        if (d->hint)
            tnb_diag_hint(tn_diags(to), "%s", d->hint);
    }
}

/* The last worker's result, if all went well and every message found its receiver. */
static const tn_expr *
conclude(group *g)
{
    if (g->failed >= 0) {
        hand_over_errors(g->ctx, g->w[g->failed].ctx);
        return NULL;
    }
    for (uint32_t i = 1; i < g->n; i++)
        if (g->w[i].first) {
            tn_error(g->ctx, 0, TNB_INVALID,
                     "worker %u (%s) sends %u messages, but worker %u (%s) has ended after "
                     "receiving %u",
                     i - 1, name_of(&g->w[i - 1]), g->w[i - 1].sent, i, name_of(&g->w[i]),
                     g->w[i].received);
            return NULL;
        }
    worker *last = &g->w[g->n - 1];
    const tn_expr *r = tn_ctx_splice(g->ctx, last->ctx, last->result);
    return tn_is_error(r) ? NULL : r;
}

static void
release(group *g)
{
    for (uint32_t i = 0; i < g->n; i++) {
        while (g->w[i].first) {
            message *m = g->w[i].first;
            g->w[i].first = m->next;
            free_message(m);
        }
        tn_ctx_free(g->w[i].ctx);
    }
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

static uint32_t
count(group *g)
{
    pthread_mutex_lock(&g->lock);
    uint32_t n = g->n;
    pthread_mutex_unlock(&g->lock);
    return n;
}

const tn_expr *
tnk_run_workers(tn_ctx *ctx, const tn_evaluator *ev, const tn_module *m, const char *func,
                const tn_expr *const *args, uint32_t n_args, tn_eval_options *opt,
                tnk_workers_run *run)
{
    static const tn_eval_options none;
    group *g = calloc(1, sizeof *g);
    uint32_t wanted = run ? run->groups : 0;
    if (!g || wanted > MAX_WORKERS) {
        free(g);
        tn_error(ctx, 0, g ? TNB_INVALID : TNB_NO_MEMORY, "no %u workers can be had", wanted);
        return NULL;
    }
    g->ctx = ctx;
    g->ev = ev;
    g->m = m;
    g->func = func;
    g->args = args;
    g->n_args = n_args;
    g->opt = opt ? *opt : none;
    g->failed = -1;
    g->may_grow = wanted == 0;
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    pthread_mutex_lock(&g->lock);
    bool ok = add_worker(g);
    while (ok && g->n < wanted)
        ok = add_worker(g);
    g->turn = 0;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
    for (uint32_t i = 0; i < count(g); i++) /* may grow while the first one runs */
        pthread_join(g->w[i].thread, NULL);
    if (!ok)
        tn_error(ctx, 0, TNB_NO_MEMORY, "no thread for a worker");
    const tn_expr *r = ok ? conclude(g) : NULL;
    uint32_t messages = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        messages += g->w[i].sent;
        if (opt) {
            opt->spent = i ? opt->spent + g->w[i].spent : g->w[i].spent;
            opt->out_of_budget =
                i ? opt->out_of_budget || g->w[i].out_of_budget : g->w[i].out_of_budget;
        }
    }
    if (run) {
        run->started = g->n;
        run->messages = messages;
    }
    release(g);
    return r;
}
