/* SPDX-License-Identifier: Apache-2.0 */
/* Deferred constants: programs over constants whose results go into the artifact.
 *
 * A constant is made when it is written and freed when nothing needs it any more, so that few are
 * in memory at a time. What is much work is done by machine code, compiled for all constants of the
 * module at once; the rest, and what the native evaluator does not take, by the interpreter.
 */
#include "driver_private.h"

#include <stdlib.h>
#include "tenon/base/log.h"
#include "tenon/core/walk.h"

/* Scalar operations above which starting a compiler pays: one program's, and those of all. */
enum { MUCH_WORK = 1 << 16, MUCH_IN_ALL = 1 << 22 };

#define NO_CODE UINT32_MAX

struct item {
    const tn_data *data;
    uint32_t uses; /* by other items that were not made yet */
    bool waiting;  /* to be written */
    uint32_t code; /* index of its program's machine code; NO_CODE: the interpreter */
    uint64_t work;
};

struct driver_constants {
    tn_ctx *ctx;
    tnb_arena *arena;
    tnb_ptrmap items; /* tn_data -> struct item; inputs before what needs them */
    const tn_evaluator *native;
    tn_ctx *code_ctx; /* of what the native evaluator makes */
    void *code;
};

static struct item *
item_of(const driver_constants *c, const tn_data *data)
{
    return tnb_ptrmap_get(&c->items, data);
}

/* ---- gathering ---- */

struct gather {
    driver_constants *c;
    TNB_VEC(const tn_data *) stack;
};

static void
add(struct gather *g, const tn_data *data)
{
    driver_constants *c = g->c;
    TNB_PUSH(c->arena, g->stack, data);
    while (g->stack.n) {
        const tn_data *d = g->stack.at[g->stack.n - 1];
        uint32_t waiting = g->stack.n;
        if (!item_of(c, d))
            for (uint32_t i = 0; i < d->n_inputs; i++)
                if (d->inputs[i]->kind == TN_DATA_DEFERRED && !item_of(c, d->inputs[i]))
                    TNB_PUSH(c->arena, g->stack, d->inputs[i]);
        if (g->stack.n > waiting)
            continue;
        g->stack.n--;
        if (item_of(c, d))
            continue;
        struct item *it = TNB_NEW(c->arena, struct item);
        *it = (struct item){.data = d, .code = NO_CODE};
        tnb_ptrmap_set(&c->items, d, it);
        for (uint32_t i = 0; i < d->n_inputs; i++)
            if (d->inputs[i]->kind == TN_DATA_DEFERRED)
                item_of(c, d->inputs[i])->uses++;
    }
}

static tn_walk_step
find_constants(void *user, const tn_node *n)
{
    const tn_constant *k = tn_as_constant(n);
    struct gather *g = user;
    if (!k || k->data->kind != TN_DATA_DEFERRED)
        return TN_WALK_ON;
    add(g, k->data);
    item_of(g->c, k->data)->waiting = true;
    return TN_WALK_ON;
}

/* ---- work ---- */

struct work {
    uint64_t sum, times;
};

static void
count(struct work *w, const tn_node *n);

static tn_walk_step
count_node(void *user, const tn_node *n)
{
    struct work *w = user;
    const tn_for_loop *f = tn_as_for_loop(n);
    int64_t extent;
    if (!f) {
        uint64_t sum;
        w->sum = tnb_add_u64(w->sum, w->times, &sum) ? sum : UINT64_MAX;
        return TN_WALK_ON;
    }
    struct work inner = {.times = w->times};
    if (tn_int_value(f->extent, &extent) && extent >= 0 &&
        !tnb_mul_u64(w->times, (uint64_t)extent, &inner.times))
        inner.times = UINT64_MAX;
    count(&inner, f->body);
    if (!tnb_add_u64(w->sum, inner.sum, &w->sum))
        w->sum = UINT64_MAX;
    return TN_WALK_SKIP;
}

static void
count(struct work *w, const tn_node *n)
{
    tn_walk(n, 0, count_node, NULL, w);
}

/* About how many scalar operations a program takes. */
static uint64_t
work_of(const tn_node *program)
{
    struct work w = {.times = 1};
    count(&w, tn_as_prim_func(program)->body);
    return w.sum / 4; /* about four nodes (indices, blocks) stand around an operation */
}

/* ---- machine code ---- */

static void
compile(driver_constants *c, tn_native_options *opt)
{
    TNB_VEC(const tn_node *) programs = {0};
    tnb_ptrmap known;
    tnb_ptrmap_init(&known, c->arena);
    uint64_t all = 0;
    for (uint32_t i = 0; i < c->items.n; i++) {
        struct item *it = c->items.at[i].value;
        it->work = work_of(it->data->program);
        if (it->work >= MUCH_WORK && !tnb_add_u64(all, it->work, &all))
            all = UINT64_MAX;
    }
    if (all < MUCH_IN_ALL || !(c->native = tn_find_native_evaluator(tn_ctx_registry(c->ctx))))
        return;
    for (uint32_t i = 0; i < c->items.n; i++) {
        struct item *it = c->items.at[i].value;
        if (it->work < MUCH_WORK)
            continue;
        uintptr_t at = (uintptr_t)tnb_ptrmap_get(&known, it->data->program);
        if (!at) {
            TNB_PUSH(c->arena, programs, it->data->program);
            at = programs.n;
            tnb_ptrmap_set(&known, it->data->program, (void *)at);
        }
        it->code = (uint32_t)at - 1;
    }
    c->code_ctx = tn_ctx_child(c->ctx); /* its errors are reasons to do without, not failures */
    c->code = c->code_ctx
                  ? c->native->prepare(c->native->self, c->code_ctx, programs.at, programs.n, opt)
                  : NULL;
    if (c->code)
        return;
    tnb_err err = {0};
    if (c->code_ctx)
        tnb_diags_first(tn_diags(c->code_ctx), &err);
    tnb_log(TNB_LOG_INFO, "constants are evaluated by the interpreter: %s",
            *err.message ? err.message : "no machine code for their programs");
}

driver_constants *
driver_constants_new(tn_ctx *ctx, const tn_module *m, tn_native_options *opt)
{
    tnb_arena *arena = tn_arena(ctx);
    driver_constants *c = TNB_NEW(arena, driver_constants);
    struct gather g = {.c = c};
    c->ctx = ctx;
    c->arena = arena;
    tnb_ptrmap_init(&c->items, arena);
    for (uint32_t i = 0; i < m->funcs.n; i++)
        if (tn_as_function(m->funcs.at[i]))
            tn_walk(m->funcs.at[i], 0, find_constants, NULL, &g);
    if (c->items.n)
        compile(c, opt);
    return c;
}

void
driver_constants_free(driver_constants *c)
{
    if (!c)
        return;
    if (c->code)
        c->native->release(c->native->self, c->code);
    tn_ctx_free(c->code_ctx);
}

/* ---- making one ---- */

static void
let_go(driver_constants *c, const tn_data *data)
{
    struct item *it = data->kind == TN_DATA_DEFERRED ? item_of(c, data) : NULL;
    if (it && it->uses)
        it->uses--;
    if (!it || (!it->uses && !it->waiting))
        tn_data_release(c->ctx, data); /* splats: at once, they are quickly made again */
}

/* The memory of a run: buffers of the program's parameters, and what of it is freed after it. */
struct memory {
    void **buffers, **own;
    uint32_t n_own;
    uint64_t taken; /* of the limit on scratch memory */
};

static void *
own_memory(driver_constants *c, struct memory *m, uint64_t bytes)
{
    size_t n = (size_t)(bytes + 63) / 64 * 64 + 64;
    if (!tn_limit_take(c->ctx, TN_LIMIT_SCRATCH, n, 0))
        return NULL;
    m->taken += n;
    void *p = aligned_alloc(64, n);
    if (p)
        m->own[m->n_own++] = p;
    else
        tn_error(c->ctx, 0, TNB_NO_MEMORY, "no memory for a constant of %llu bytes",
                 (unsigned long long)bytes);
    return p;
}

/* Input i; a copy if it does not lie as its elements must (ranges of files lie anywhere). */
static bool
set_input(driver_constants *c, struct memory *m, const tn_data *d, uint32_t i)
{
    const tn_data *in = d->inputs[i];
    const void *bytes = tn_data_get(c->ctx, in);
    size_t size = tnb_dtype_bytes(in->dtype);
    if (!bytes)
        return false;
    if (size == 0 || (uintptr_t)bytes % size == 0) {
        m->buffers[i] = (void *)(uintptr_t)bytes;
        return true;
    }
    m->buffers[i] = own_memory(c, m, in->n_bytes);
    if (m->buffers[i])
        memcpy(m->buffers[i], bytes, (size_t)in->n_bytes);
    return m->buffers[i] != NULL;
}

/* The result itself, or memory for another result of the program. */
static bool
set_output(driver_constants *c, struct memory *m, const tn_data *d, uint32_t i)
{
    tn_list buffers = tn_as_prim_func(d->program)->buffers;
    const tn_buffer *b = i < buffers.n ? tn_as_buffer(buffers.at[i]) : NULL;
    int64_t shape[32];
    uint64_t n, bytes;
    tnb_err err;
    if (!b || b->shape.n > sizeof shape / sizeof *shape)
        return false;
    for (uint32_t k = 0; k < b->shape.n; k++)
        if (!tn_int_value(b->shape.at[k], &shape[k]))
            return false;
    if (tnb_shape_bytes(b->dtype, (int32_t)b->shape.n, shape, &n, &bytes, &err) != TNB_OK)
        return false;
    bool wanted = i == d->n_inputs + d->result;
    if (wanted && bytes != d->n_bytes)
        return false;
    m->buffers[i] = wanted ? tn_data_fill(c->ctx, d) : own_memory(c, m, bytes);
    return m->buffers[i] != NULL;
}

/* False: not done; without an error recorded, the interpreter may do it. */
static bool
run_native(driver_constants *c, const struct item *it)
{
    const tn_data *d = it->data;
    uint32_t n = tn_as_prim_func(d->program)->params.n;
    tnb_arena *scratch = tn_scratch(c->ctx);
    struct memory m = {.buffers = TNB_NEW_N(scratch, void *, n),
                       .own = TNB_NEW_N(scratch, void *, n)};
    bool ok = true;
    for (uint32_t i = 0; ok && i < n; i++)
        ok = i < d->n_inputs ? set_input(c, &m, d, i) : set_output(c, &m, d, i);
    ok = ok && c->native->call(c->native->self, c->code_ctx, c->code, it->code, m.buffers);
    for (uint32_t i = 0; i < m.n_own; i++)
        free(m.own[i]);
    tn_limit_give(c->ctx, TN_LIMIT_SCRATCH, m.taken);
    if (!ok)
        tn_data_release(c->ctx, d);
    return ok;
}

/* Its inputs are there. */
static bool
evaluate(driver_constants *c, struct item *it)
{
    uint32_t errors = tnb_diags_errors(tn_diags(c->ctx));
    bool ok = c->code && it->code != NO_CODE && run_native(c, it);
    if (!ok && tnb_diags_errors(tn_diags(c->ctx)) == errors)
        ok = tn_data_get(c->ctx, it->data) != NULL;
    for (uint32_t i = 0; i < it->data->n_inputs; i++)
        let_go(c, it->data->inputs[i]);
    return ok;
}

const void *
driver_constants_get(driver_constants *c, const tn_data *data)
{
    if (data->kind != TN_DATA_DEFERRED || data->bytes)
        return tn_data_get(c->ctx, data);
    TNB_VEC(struct item *) stack = {0};
    TNB_PUSH(c->arena, stack, item_of(c, data));
    while (stack.n) {
        struct item *it = stack.at[stack.n - 1];
        uint32_t waiting = stack.n;
        for (uint32_t i = 0; !it->data->bytes && i < it->data->n_inputs; i++) {
            const tn_data *in = it->data->inputs[i];
            if (in->kind == TN_DATA_DEFERRED && !in->bytes)
                TNB_PUSH(c->arena, stack, item_of(c, in));
        }
        if (stack.n > waiting)
            continue;
        stack.n--;
        if (!it->data->bytes && !evaluate(c, it))
            return NULL;
    }
    return data->bytes;
}

void
driver_constants_done(driver_constants *c, const tn_data *data)
{
    struct item *it = data->kind == TN_DATA_DEFERRED ? item_of(c, data) : NULL;
    if (it)
        it->waiting = false;
    if (!it || !it->uses)
        tn_data_release(c->ctx, data);
}
