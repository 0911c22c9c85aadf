/* SPDX-License-Identifier: Apache-2.0 */
/* Captured graphs: what RewriteCUDAGraph makes of a module.
 *
 *     storages = vm.builtin.cuda_graph.get_cached_alloc(allocate, slot)
 *     results  = vm.builtin.cuda_graph.run_or_capture(work, (arguments), slot[, shape])
 *
 * What `allocate` gives is made once and kept. `work` runs as it is when it is met first, with a shape of its own; then the
 * same launches are captured, and from the next time on replayed as one. Its memory is that of the storages, so the addresses
 * stay; where an argument lies elsewhere, it runs and is captured again, and the graph is updated. Capture permits neither a
 * wait for the device nor an allocation of its memory: both are refused. A device without graphs runs `work` each time.
 *
 * A module that has such regions has what the runtime itself launches between them captured, too (tnr_graph_repeat): attention on the paged
 * cache.
 */
#include <stdlib.h>
#include <string.h>
#include "internal.h"
#include "tenon/base/log.h"

struct cached_alloc {
    struct cached_alloc *next;
    uint32_t function;
    int64_t slot;
    tnr_value value;
};

struct graph_storages {
    uint32_t n, cap;
    tnr_storage **at; /* counted */
};

/* One captured graph. The key: function, slot, dims; what it depends on beside: the arguments. */
struct graph {
    struct graph *next;
    uint32_t function; /* NO_FUNCTION: of the runtime */
    int64_t slot;
    tnr_value shape; /* or null */
    tnr_value args;  /* the tuple that it was captured with: its memory stays */
    tnr_value result;
    void *graph;                    /* the driver's */
    struct graph_storages storages; /* that its launches use, whoever gave them */
};

enum { NO_FUNCTION = UINT32_MAX };

/* What is captured: a closure with a tuple of arguments, the first two of run_or_capture, or a function of the runtime. */
struct work {
    const tnr_value *args;
    tnb_status (*call)(void *user, tnb_err *err);
    void *user;
};

struct graphs {
    struct cached_alloc *allocs;
    struct graph *first;
};

static struct graphs *
graphs_of(struct graphs **list, tnb_err *err)
{
    if (!*list && !(*list = calloc(1, sizeof **list)))
        (void)tnb_fail(err, TNB_NO_MEMORY, "no memory for captured graphs");
    return *list;
}

static void
forget_storages(struct graph_storages *g)
{
    while (g->n)
        tnr_object_release(&g->at[--g->n]->object);
    free(g->at);
    *g = (struct graph_storages){0};
}

tnb_status
tnr_graph_note(tnr_vm *vm, tnr_storage *s, tnb_err *err)
{
    struct graph_storages *g = vm->captured;
    for (uint32_t i = 0; i < g->n; i++)
        if (g->at[i] == s)
            return TNB_OK;
    if (g->n == g->cap) {
        uint32_t cap = g->cap ? 2 * g->cap : 16;
        tnr_storage **at = realloc(g->at, cap * sizeof *at);
        if (!at)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for a graph");
        g->at = at;
        g->cap = cap;
    }
    tnr_object_retain(&s->object);
    g->at[g->n++] = s;
    return TNB_OK;
}

/* Its storages are used in the order of the stream on which it is launched: before and behind the launch. */
static tnb_status
order(const struct graph *g, struct tnr_queue *q, tnb_err *err)
{
    for (uint32_t i = 0; i < g->storages.n; i++)
        if (tnr_queue_of(g->storages.at[i]) != q)
            TNB_TRY(tnr_storage_adopt(g->storages.at[i], q, err));
    return TNB_OK;
}

static void
free_graph(tnr_device *dev, struct graph *g)
{
    if (g->graph)
        dev->driver->graph_free(dev->handle, g->graph);
    tnr_release(&g->shape);
    tnr_release(&g->args);
    tnr_release(&g->result);
    forget_storages(&g->storages);
    free(g);
}

void
tnr_graphs_free(tnr_device *dev, struct graphs **list)
{
    struct graphs *all = *list;
    if (!all)
        return;
    tnb_err err;
    if (all->first && tnr_device_sync(dev, &err) != TNB_OK) /* one may be under way */
        tnb_log(TNB_LOG_WARN, "%s", err.message);
    for (struct graph *g = all->first, *next; g; g = next) {
        next = g->next;
        free_graph(dev, g);
    }
    for (struct cached_alloc *c = all->allocs, *next; c; c = next) {
        next = c->next;
        tnr_release(&c->value);
        free(c);
    }
    free(all);
    *list = NULL;
}

/* (function, slot) */
tnb_status
tnr_graph_cached_alloc(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err)
{
    static const char fn[] = "vm.builtin.cuda_graph.get_cached_alloc";
    struct graphs *all = graphs_of(&vm->graphs, err);
    int64_t slot;
    (void)n;
    if (!all)
        return TNB_NO_MEMORY;
    TNB_TRY(tnr_expect(fn, args, 0, TNR_CLOSURE, err));
    TNB_TRY(tnr_expect_int(fn, args, 1, &slot, err));
    uint32_t function = args[0].u.closure->function;
    struct cached_alloc *c = all->allocs;
    while (c && (c->function != function || c->slot != slot))
        c = c->next;
    if (!c) {
        tnr_value made = tnr_null();
        TNB_TRY(tnr_vm_call_closure(vm, args[0].u.closure, NULL, 0, &made, err));
        c = malloc(sizeof *c);
        if (!c) {
            tnr_release(&made);
            return tnb_fail(err, TNB_NO_MEMORY, "%s: no memory", fn);
        }
        *c = (struct cached_alloc){all->allocs, function, slot, made};
        all->allocs = c;
    }
    *ret = c->value;
    tnr_retain(*ret);
    return TNB_OK;
}

/* ---- equal arguments ---- */

static bool
same_shape(tnr_value a, tnr_value b)
{
    if (a.tag != b.tag)
        return false;
    return a.tag != TNR_SHAPE ||
           (a.u.shape->n == b.u.shape->n &&
            memcmp(a.u.shape->dims, b.u.shape->dims, (size_t)a.u.shape->n * sizeof(int64_t)) == 0);
}

/* Whether launches with one do what those with the other do: memory and extents, not what lies there. */
static bool
same(tnr_value a, tnr_value b, int depth)
{
    if (a.tag != b.tag || depth > 32)
        return false;
    if (a.tag == TNR_TENSOR) {
        const tnb_dltensor *x = &a.u.tensor->dl, *y = &b.u.tensor->dl;
        return x->data == y->data && x->byte_offset == y->byte_offset && x->ndim == y->ndim &&
               tnb_dtype_eq(x->dtype, y->dtype) &&
               memcmp(x->shape, y->shape, (size_t)x->ndim * sizeof *x->shape) == 0;
    }
    if (a.tag == TNR_STORAGE)
        return a.u.storage == b.u.storage;
    if (a.tag == TNR_SHAPE)
        return same_shape(a, b);
    if (a.tag == TNR_TUPLE) {
        bool equal = a.u.tuple->n == b.u.tuple->n;
        for (uint32_t i = 0; equal && i < a.u.tuple->n; i++)
            equal = same(a.u.tuple->items[i], b.u.tuple->items[i], depth + 1);
        return equal;
    }
    return a.tag == TNR_NULL || (a.tag != TNR_CLOSURE && a.tag != TNR_STRING && a.u.i == b.u.i);
}

/* ---- capture ---- */

static tnb_status
run(tnr_vm *vm, const struct work *w, tnr_value *ret, tnb_err *err)
{
    *ret = tnr_null();
    if (w->call)
        return w->call(w->user, err);
    const tnr_tuple *t = w->args[1].u.tuple;
    return tnr_vm_call_closure(vm, w->args[0].u.closure, t->items, t->n, ret, err);
}

static tnb_status
capture(tnr_vm *vm, const struct work *w, void **graph, struct graph_storages *storages,
        tnr_value *result, tnb_err *err)
{
    tnr_device *dev = vm->device;
    struct tnr_queue *q = vm->queues[0];
    void *stream = tnr_stream(q);
    tnb_err why;
    TNB_TRY(TNR_ASK(dev, err, graph_begin, stream));
    q->capturing = vm->capturing = true;
    vm->captured = storages;
    tnb_status st = run(vm, w, result, err);
    q->capturing = vm->capturing = false;
    tnb_err *of_end = st == TNB_OK ? err : &why;
    tnb_status end = TNR_ASK(dev, of_end, graph_end, stream, graph);
    if (st != TNB_OK && end == TNB_OK)
        dev->driver->graph_free(dev->handle, *graph);
    if (st == TNB_OK && end != TNB_OK)
        tnr_release(result);
    return st != TNB_OK ? st : end;
}

/* The first time, and with other arguments: runs, and captures for the next time. */
static tnb_status
run_and_capture(tnr_vm *vm, struct graph *g, const struct work *w, tnr_value args, tnr_value *ret,
                tnb_err *err)
{
    const tnr_driver *d = vm->device->driver;
    tnr_value done = tnr_null(), result = tnr_null();
    void *graph = NULL;
    struct graph_storages storages = {0};
    TNB_TRY(run(vm, w, &done, err));
    tnb_status st = capture(vm, w, &graph, &storages, &result, err);
    tnr_release(&done); /* in the same memory as `result` */
    if (st != TNB_OK) {
        forget_storages(&storages);
        if (g->function == NO_FUNCTION)
            tnb_err_prefix(err, "capturing a graph");
        else
            tnb_err_prefix(err, "capturing a graph of '%s'",
                           vm->p.text + vm->p.functions[g->function].name);
        return st;
    }
    if (g->graph && d->graph_update(vm->device->handle, g->graph, graph, NULL) == TNB_OK) {
        d->graph_free(vm->device->handle, graph);
    } else {
        if (g->graph)
            d->graph_free(vm->device->handle, g->graph);
        g->graph = graph;
    }
    tnr_release(&g->args);
    tnr_release(&g->result);
    forget_storages(&g->storages);
    g->storages = storages;
    g->args = args;
    g->result = result;
    tnr_retain(g->args);
    *ret = result;
    tnr_retain(*ret);
    return TNB_OK;
}

static struct graph *
find(struct graphs *all, uint32_t function, int64_t slot, tnr_value shape, tnb_err *err)
{
    struct graph *g = all->first;
    while (g && (g->function != function || g->slot != slot || !same_shape(g->shape, shape)))
        g = g->next;
    if (g)
        return g;
    g = calloc(1, sizeof *g);
    if (!g) {
        (void)tnb_fail(err, TNB_NO_MEMORY, "no memory for a graph");
        return NULL;
    }
    *g = (struct graph){.next = all->first, .function = function, .slot = slot, .shape = shape};
    tnr_retain(shape);
    all->first = g;
    return g;
}

static bool
may_capture(const tnr_vm *vm)
{
    return vm->has_queues && vm->queues[0] && vm->device->driver->graph_begin && !vm->capturing &&
           !vm->profiling;
}

static tnb_status
replay(tnr_vm *vm, const struct graph *g, tnr_value *ret, tnb_err *err)
{
    struct tnr_queue *q = vm->queues[0];
    TNB_TRY(order(g, q, err));
    TNB_TRY(TNR_ASK(vm->device, err, graph_launch, tnr_stream(q), g->graph));
    TNB_TRY(order(g, q, err));
    vm->refusals[0].pending = vm->refusals[0].mem != NULL; /* its kernels may have noted one */
    *ret = g->result;
    tnr_retain(*ret);
    return TNB_OK;
}

tnb_status
tnr_graph_repeat(tnr_vm *vm, struct graphs **list, const struct tnr_repeated *r, tnb_err *err)
{
    tnr_value args, shape, ret;
    const struct work w = {.call = r->call, .user = r->user};
    if (!vm->graphs || !may_capture(vm))
        return r->call(r->user, err);
    struct graphs *all = graphs_of(list, err);
    if (!all)
        return TNB_NO_MEMORY;
    TNB_TRY(tnr_shape_new(r->dims, r->n_dims, &shape, err));
    tnb_status st = tnr_tuple_new(r->args, r->n_args, &args, err);
    struct graph *g = st == TNB_OK ? find(all, NO_FUNCTION, r->slot, shape, err) : NULL;
    tnr_release(&shape);
    if (st != TNB_OK)
        return st;
    if (!g)
        st = TNB_NO_MEMORY;
    else if (!g->graph || !same(g->args, args, 0))
        st = run_and_capture(vm, g, &w, args, &ret, err);
    else
        st = replay(vm, g, &ret, err);
    tnr_release(&args);
    return st;
}

/* (function, tuple of arguments, slot[, shape]) */
tnb_status
tnr_graph_run(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err)
{
    static const char fn[] = "vm.builtin.cuda_graph.run_or_capture";
    int64_t slot;
    TNB_TRY(tnr_expect(fn, args, 0, TNR_CLOSURE, err));
    TNB_TRY(tnr_expect(fn, args, 1, TNR_TUPLE, err));
    TNB_TRY(tnr_expect_int(fn, args, 2, &slot, err));
    if (n > 3)
        TNB_TRY(tnr_expect(fn, args, 3, TNR_SHAPE, err));
    struct graphs *all = graphs_of(&vm->graphs, err);
    if (!all)
        return TNB_NO_MEMORY;
    const struct work w = {.args = args};
    if (!may_capture(vm))
        return run(vm, &w, ret, err);
    struct graph *g =
        find(all, args[0].u.closure->function, slot, n > 3 ? args[3] : tnr_null(), err);
    if (!g)
        return TNB_NO_MEMORY;
    if (!g->graph || !same(g->args, args[1], 0))
        return run_and_capture(vm, g, &w, args[1], ret, err);
    return replay(vm, g, ret, err);
}
