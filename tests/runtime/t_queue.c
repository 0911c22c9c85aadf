/* SPDX-License-Identifier: Apache-2.0 */
/* The order of work, on a device whose queue is late and out of order (tests/vendor/simacc/queue.h): every use of the runtime
 * below gives right results for every seed, and where one wait is taken out, wrong ones for some.
 *
 * Memory of the device is the process's, but handles are no addresses for the host. Kernels: `add` z = x + y, `twice` y = 2 x.
 */
#include <pthread.h>
#include "../vendor/simacc/queue.h"
#include "assemble.h"
#include "tenon/base/kernel_abi.h"

enum { N = 16, BYTES = N * 4, SEEDS = 30 };

/* ---- the device ---- */

typedef struct memory {
    struct memory *next; /* of all */
    float *at;
    uint64_t bytes;
} memory;

enum { DEVICES = 2 };

/* Two devices, whose streams are in one queue so that their work overtakes each other's, too. */
typedef struct sim {
    simacc_stream *own; /* the stream NULL */
} sim;

static struct {
    simacc_queue *q;
    sim devices[DEVICES];
    int opened;
    memory *all;
    uint64_t seed;
    int allocs, replays, captures, updates, asked, peer_copies;
    bool strangers;                    /* the devices cannot reach each other */
    void (*before_launch)(void *user); /* called once; NULL: nothing */
    void *user;
    int calls, fail; /* the call that fails, from 1; 0: none */
    bool silent;     /* without a reason */
} dev;

static tnb_status
call_fails(tnb_err *err)
{
    if (++dev.calls != dev.fail)
        return TNB_OK;
    return dev.silent ? TNB_DEVICE : tnb_fail(err, TNB_DEVICE, "the test lets this call fail");
}

typedef struct work {
    simacc_task base;
    int kind; /* 'c'opy, 'z'ero, 'a'dd, 't'wice */
    char *to, *from, *other;
    uint64_t bytes;
} work;

static tnb_status
perform(simacc_task *t, tnb_err *err)
{
    work *w = (work *)t;
    float *z = (float *)(void *)w->to;
    const float *x = (const float *)(void *)w->from, *y = (const float *)(void *)w->other;
    (void)err;
    if (w->kind == 'c')
        memmove(w->to, w->from, w->bytes);
    else if (w->kind == 'z')
        memset(w->to, 0, w->bytes);
    else
        for (uint64_t i = 0; i < w->bytes / sizeof *z; i++)
            z[i] = w->kind == 'a' ? x[i] + y[i] : 2 * x[i];
    return TNB_OK;
}

static void
drop(simacc_task *t)
{
    free(t);
}

static simacc_stream *
stream_of(const void *d, void *stream)
{
    return stream ? stream : ((const sim *)d)->own;
}

static tnb_status
give(const void *d, void *stream, work w, tnb_err *err)
{
    work *own = malloc(sizeof *own);
    w.base = (simacc_task){perform, drop};
    *own = w;
    return simacc_queue_put(dev.q, stream_of(d, stream), &own->base, err);
}

static tnb_status
sim_count(void *self, int *n, tnb_err *err)
{
    (void)self, (void)err;
    *n = DEVICES;
    return TNB_OK;
}

static tnb_status
sim_open(void *self, int id, const tnr_device_options *opt, void **out, tnb_err *err)
{
    (void)self, (void)opt, (void)err;
    if (dev.opened++ == 0)
        dev.q = simacc_queue_new(dev.seed);
    dev.devices[id].own = simacc_stream_new(dev.q);
    *out = &dev.devices[id];
    return TNB_OK;
}

static void
sim_close(void *d)
{
    (void)d;
    if (--dev.opened)
        return;
    simacc_queue_free(dev.q);
    for (memory *m = dev.all, *next; m; m = next) {
        next = m->next;
        free(m->at);
        free(m);
    }
    dev.q = NULL;
    dev.all = NULL;
}

static void
sim_describe(void *d, char *out, size_t n)
{
    (void)d;
    snprintf(out, n, "late");
}

static tnb_status
sim_alloc(void *d, uint64_t bytes, const char *scope, void **mem, tnb_err *err)
{
    (void)d, (void)scope, (void)err;
    TNB_TRY(call_fails(err));
    memory *m = calloc(1, sizeof *m);
    m->at = aligned_alloc(64, (bytes + 63) / 64 * 64);
    memset(m->at, 0xff, (bytes + 63) / 64 * 64);
    m->bytes = bytes;
    m->next = dev.all;
    dev.all = m;
    dev.allocs++;
    *mem = m;
    return TNB_OK;
}

static void
sim_free(void *d, void *mem)
{
    (void)d, (void)mem; /* what is queued keeps it: all goes at the end */
}

static char *
at(const void *mem, uint64_t offset)
{
    return (char *)((const memory *)mem)->at + offset;
}

static tnb_status
begin_copy(const void *d, void *stream, const tnr_copy *c, tnb_err *err)
{
    TNB_TRY(call_fails(err));
    bool up = c->kind == TNR_COPY_TO_DEVICE, down = c->kind == TNR_COPY_TO_HOST;
    return give(d, stream,
                (work){.kind = 'c',
                       .to = down ? (char *)c->dst + c->dst_offset : at(c->dst, c->dst_offset),
                       .from = up ? (char *)(uintptr_t)c->src + c->src_offset
                                  : at(c->src, c->src_offset),
                       .bytes = c->bytes},
                err);
}

static tnb_status
sim_copy_start(void *d, void *stream, const tnr_copy *c, tnb_err *err)
{
    (void)d;
    return begin_copy(d, stream, c, err);
}

static tnb_status
sim_copy(void *d, void *stream, const tnr_copy *c, tnb_err *err)
{
    (void)d;
    TNB_TRY(begin_copy(d, stream, c, err));
    return c->kind == TNR_COPY_ON_DEVICE
               ? TNB_OK
               : simacc_queue_sync(dev.q, stream_of(d, stream), SIMACC_FOR_COPY, err);
}

static bool
sim_peer(void *d, void *from)
{
    (void)d, (void)from;
    return !dev.strangers;
}

static tnb_status
sim_peer_copy(void *d, void *stream, void *from, const tnr_copy *c, tnb_err *err)
{
    assert_true(d != from && c->kind == TNR_COPY_ON_DEVICE);
    dev.peer_copies++;
    return begin_copy(d, stream, c, err);
}

static tnb_status
sim_zero(void *d, void *stream, void *mem, uint64_t offset, uint64_t bytes, tnb_err *err)
{
    (void)d;
    TNB_TRY(call_fails(err));
    return give(d, stream, (work){.kind = 'z', .to = at(mem, offset), .bytes = bytes}, err);
}

static tnb_status
sim_sync(void *d, void *stream, tnb_err *err)
{
    (void)d;
    TNB_TRY(call_fails(err));
    return simacc_queue_sync(dev.q, stream_of(d, stream), SIMACC_FOR_STREAM, err);
}

static tnb_status
sim_stream_new(void *d, void **stream, tnb_err *err)
{
    (void)d, (void)err;
    TNB_TRY(call_fails(err));
    *stream = simacc_stream_new(dev.q);
    return TNB_OK;
}

static void
sim_stream_free(void *d, void *stream)
{
    (void)d, (void)stream;
}

static tnb_status
sim_event_new(void *d, void **event, tnb_err *err)
{
    (void)d, (void)err;
    TNB_TRY(call_fails(err));
    *event = simacc_event_new();
    return TNB_OK;
}

static void
sim_event_free(void *d, void *event)
{
    (void)d;
    simacc_event_free(dev.q, event);
}

static tnb_status
sim_event_record(void *d, void *event, void *stream, tnb_err *err)
{
    (void)d;
    TNB_TRY(call_fails(err));
    return simacc_event_record(dev.q, stream_of(d, stream), event, err);
}

static tnb_status
sim_event_wait(void *d, void *event, void *stream, tnb_err *err)
{
    (void)d;
    TNB_TRY(call_fails(err));
    return simacc_event_wait(dev.q, stream_of(d, stream), event, err);
}

static tnb_status
sim_event_seconds(void *d, void *from, void *to, double *seconds, tnb_err *err)
{
    (void)d, (void)from, (void)to, (void)err;
    *seconds = 0;
    return TNB_OK;
}

static tnb_status
sim_event_done(void *d, void *event, bool *done, tnb_err *err)
{
    (void)d, (void)err;
    TNB_TRY(call_fails(err));
    dev.asked++;
    *done = simacc_event_done(dev.q, event);
    return TNB_OK;
}

static tnb_status
sim_event_sync(void *d, void *event, tnb_err *err)
{
    (void)d;
    TNB_TRY(call_fails(err));
    return simacc_event_sync(dev.q, event, err);
}

static tnb_status
sim_pinned_alloc(void *d, uint64_t bytes, void **host, tnb_err *err)
{
    (void)d;
    return tnr_host_alloc(NULL, bytes, NULL, host, err);
}

static void
sim_pinned_free(void *d, void *host)
{
    (void)d;
    tnr_host_free(NULL, host);
}

static tnb_status
sim_load(void *d, const char *format, const void *code, size_t n, void **module, tnb_err *err)
{
    static int loaded;
    (void)d, (void)format, (void)code, (void)n, (void)err;
    *module = &loaded;
    return TNB_OK;
}

static void
sim_unload(void *d, void *module)
{
    (void)d, (void)module;
}

static tnb_status
sim_kernel(void *d, void *module, const char *name, void **kernel, tnb_err *err)
{
    (void)d, (void)module, (void)err;
    *kernel = (void *)(intptr_t)*name;
    return TNB_OK;
}

static tnb_status
sim_launch(void *d, void *stream, void *kernel, const tnr_launch *l, tnb_err *err)
{
    const tnr_memory *x = &l->params[0].u.memory, *y = &l->params[1].u.memory,
                     *z = &l->params[l->n_params - 1].u.memory;
    if (dev.before_launch) {
        void (*first)(void *) = dev.before_launch;
        dev.before_launch = NULL;
        first(dev.user);
    }
    TNB_TRY(call_fails(err));
    return give(d, stream,
                (work){.kind = (int)(intptr_t)kernel,
                       .from = at(x->mem, x->offset),
                       .other = at(y->mem, y->offset),
                       .to = at(z->mem, z->offset),
                       .bytes = z->bytes},
                err);
}

static tnb_status
sim_graph_begin(void *d, void *stream, tnb_err *err)
{
    (void)d;
    TNB_TRY(call_fails(err));
    dev.captures++;
    return simacc_graph_begin(dev.q, stream, err);
}

static tnb_status
sim_graph_end(void *d, void *stream, void **graph, tnb_err *err)
{
    simacc_graph *g = NULL;
    (void)d;
    TNB_TRY(simacc_graph_end(dev.q, stream, &g, err));
    if (call_fails(err) != TNB_OK) { /* as a device that refuses what was captured */
        simacc_graph_free(dev.q, g);
        return TNB_DEVICE;
    }
    *graph = g;
    return TNB_OK;
}

static tnb_status
sim_graph_update(void *d, void *graph, void *from, tnb_err *err)
{
    (void)d;
    TNB_TRY(call_fails(err));
    dev.updates++;
    return simacc_graph_update(dev.q, graph, from, err);
}

static tnb_status
sim_graph_launch(void *d, void *stream, void *graph, tnb_err *err)
{
    (void)d;
    TNB_TRY(call_fails(err));
    dev.replays++;
    return simacc_graph_launch(dev.q, stream, graph, err);
}

static void
sim_graph_free(void *d, void *graph)
{
    (void)d;
    simacc_graph_free(dev.q, graph);
}

static const char *const formats[] = {"test", NULL};
static const tnr_driver late = {.base.size = sizeof(tnr_driver),
                                .base.name = "late",
                                .type = TNB_EXT_DEV,
                                .alignment = 64,
                                .count = sim_count,
                                .open = sim_open,
                                .close = sim_close,
                                .describe = sim_describe,
                                .check_features = tnr_host_check_features,
                                .alloc = sim_alloc,
                                .free = sim_free,
                                .copy = sim_copy,
                                .zero = sim_zero,
                                .sync = sim_sync,
                                .stream_new = sim_stream_new,
                                .stream_free = sim_stream_free,
                                .event_new = sim_event_new,
                                .event_free = sim_event_free,
                                .event_record = sim_event_record,
                                .event_wait = sim_event_wait,
                                .event_seconds = sim_event_seconds,
                                .event_done = sim_event_done,
                                .event_sync = sim_event_sync,
                                .copy_start = sim_copy_start,
                                .pinned_alloc = sim_pinned_alloc,
                                .pinned_free = sim_pinned_free,
                                .peer = sim_peer,
                                .peer_copy = sim_peer_copy,
                                .formats = formats,
                                .module_load = sim_load,
                                .module_free = sim_unload,
                                .module_kernel = sim_kernel,
                                .launch = sim_launch,
                                .graph_begin = sim_graph_begin,
                                .graph_end = sim_graph_end,
                                .graph_update = sim_graph_update,
                                .graph_launch = sim_graph_launch,
                                .graph_free = sim_graph_free};
static const tnr_driver *const drivers[] = {&late};

/* A library that knows nothing of machines: it doubles its argument in place, on the device's own stream. */
static tnb_status
on_own_stream(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err)
{
    const tnb_dltensor *t = &args[0].u.tensor->dl;
    (void)vm, (void)n, (void)ret;
    char *p = at(t->data, t->byte_offset);
    return give(
        dev.devices, NULL,
        (work){.kind = 't', .from = p, .other = p, .to = p, .bytes = args[0].u.tensor->n_bytes},
        err);
}

/* One that does the same on the machine's. */
static tnb_status
on_machines_stream(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err)
{
    const tnb_dltensor *t = &args[0].u.tensor->dl;
    (void)n, (void)ret;
    char *p = at(t->data, t->byte_offset);
    return give(
        dev.devices, tnr_vm_stream(vm, tnr_vm_device(vm)),
        (work){.kind = 't', .from = p, .other = p, .to = p, .bytes = args[0].u.tensor->n_bytes},
        err);
}

/* A tensor that no machine gets as an argument: a function gives it (test.shared), or works with it itself. */
static tnr_value shared;

static tnb_status
give_shared(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err)
{
    (void)vm, (void)args, (void)n, (void)err;
    *ret = shared;
    tnr_retain(shared);
    return TNB_OK;
}

/* shared = 2 * argument, on the machine's stream */
static tnb_status
set_shared(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err)
{
    const tnb_dltensor *t = &args[0].u.tensor->dl, *to = &shared.u.tensor->dl;
    (void)n, (void)ret;
    TNB_TRY(tnr_vm_use(vm, shared.u.tensor, err));
    TNB_TRY(give(dev.devices, tnr_vm_stream(vm, tnr_vm_device(vm)),
                 (work){.kind = 't',
                        .from = at(t->data, t->byte_offset),
                        .to = at(to->data, to->byte_offset),
                        .bytes = BYTES},
                 err));
    return tnr_vm_use(vm, shared.u.tensor, err);
}

#define PACKED(name_, call_, flags_)                                                               \
    {                                                                                              \
        .base.size = sizeof(tnr_packed), .base.name = (name_), .flags = (flags_), .call = (call_), \
        .min_args = 1, .max_args = 1                                                               \
    }
static const tnr_packed own = PACKED("test.own", on_own_stream, 0),
                        with_machine =
                            PACKED("test.machine", on_machines_stream,
                                   TNR_PACKED_VM | TNR_PACKED_STREAM | TNR_PACKED_CAPTURABLE),
                        blocking = PACKED("test.blocking", on_machines_stream,
                                          TNR_PACKED_VM | TNR_PACKED_STREAM |
                                              TNR_PACKED_CAPTURABLE | TNR_PACKED_BLOCKING);
static const tnr_packed giving = PACKED("test.shared", give_shared,
                                        TNR_PACKED_STREAM | TNR_PACKED_CAPTURABLE),
                        setting = PACKED("test.set", set_shared, TNR_PACKED_VM | TNR_PACKED_STREAM);
static const tnr_packed *const packed[] = {&own, &with_machine, &blocking, &giving, &setting};

/* ---- programs ---- */

static tnb_arena *arena;
static const int64_t dims[] = {N};
static const tnb_tno_param three[] = {
    {.kind = TNB_PARAM_BUFFER, .dtype = {TNB_FLOAT, 32, 1}, .ndim = 1},
    {.kind = TNB_PARAM_BUFFER, .dtype = {TNB_FLOAT, 32, 1}, .ndim = 1},
    {.kind = TNB_PARAM_BUFFER, .dtype = {TNB_FLOAT, 32, 1}, .ndim = 1, .flags = TNB_TNO_WRITTEN}};

enum { F32_1 = TNB_FLOAT | 32 << 8 | 1 << 16 };

/* Register `to`: a new tensor of N floats. Scalar registers 0 and 1 are used. */
static void
new_tensor(tnk_program *p, uint32_t storage, uint32_t to)
{
    load_int(p, 0, BYTES);
    OP(ALLOCS, 0, storage, 0, 0);
    load_int(p, 1, 0);
    OPL(ALLOCT, to, F32_1, V(storage), I(1), C(tnk_program_shape(p, dims, 1)));
    OP(KILL, 0, storage, 0, 0);
}

static void
begin(tnk_program *p, uint32_t f, uint32_t params, uint32_t values)
{
    tnk_program_begin(p, f);
    for (uint32_t i = params; i < values; i++)
        tnk_program_value_reg(p);
    (void)tnk_program_scalar_reg(p);
    (void)tnk_program_scalar_reg(p);
}

/* main(x) = [call(] x + x [)], four times doubled by kernels if `long_` */
static tnk_program *
doubling(const char *call, bool longer)
{
    tnk_program *p = tnk_program_new(arena);
    uint32_t d = tnk_program_device(p, "late", 0, "global");
    uint32_t k = tnk_program_kernel(p, "add", 0, d, three, 3, NULL);
    begin(p, tnk_program_function(p, "main", TNB_TNO_PUBLIC, 1), 1, 5);
    new_tensor(p, 1, 2);
    OPL(LAUNCH, 0, k, V(0), V(0), V(2));
    if (call)
        OPL(CALLP, 4, tnk_program_packed(p, call), V(2));
    if (longer) {
        new_tensor(p, 1, 3);
        OPL(LAUNCH, 0, k, V(2), V(2), V(3));
    }
    OP(RET, 0, longer ? 3 : 2, 0, 0);
    tnk_program_end(p);
    return p;
}

/* main(x) = run_or_capture(work, (x, storage's tensor)); work(x, y): y = x + x, or x and what `other` gives; then what `call` does
 * with y. */
static tnk_program *
captured_of(const char *other, const char *call, bool allocates)
{
    tnk_program *p = tnk_program_new(arena);
    uint32_t d = tnk_program_device(p, "late", 0, "global");
    uint32_t k = tnk_program_kernel(p, "add", 0, d, three, 3, NULL);
    uint32_t main_ = tnk_program_function(p, "main", TNB_TNO_PUBLIC, 1),
             work_ = tnk_program_function(p, "work", 0, 2),
             alloc = tnk_program_function(p, "alloc", 0, 0);
    uint32_t zero = tnk_program_value(p, TNB_TNO_INT, TNB_I64, 0);
    begin(p, main_, 1, 5);
    OP(CONST, 0, 1, tnk_program_value(p, TNB_TNO_FUNCTION, TNB_VOID, alloc), 0);
    OPL(CALLP, 2, tnk_program_packed(p, "vm.builtin.cuda_graph.get_cached_alloc"), V(1), C(zero));
    OPL(TUPLE, 3, 0, V(0), V(2));
    OP(CONST, 0, 1, tnk_program_value(p, TNB_TNO_FUNCTION, TNB_VOID, work_), 0);
    OPL(CALLP, 4, tnk_program_packed(p, "vm.builtin.cuda_graph.run_or_capture"), V(1), V(3),
        C(zero));
    OP(RET, 0, 4, 0, 0);
    tnk_program_end(p);
    begin(p, work_, 2, 5);
    if (other)
        OPL(CALLP, 4, tnk_program_packed(p, other), V(0));
    OPL(LAUNCH, 0, k, V(0), V(other ? 4 : 0), V(1));
    if (call)
        OPL(CALLP, 2, tnk_program_packed(p, call), V(1));
    if (allocates)
        new_tensor(p, 2, 3);
    OP(RET, 0, 1, 0, 0);
    tnk_program_end(p);
    begin(p, alloc, 0, 3);
    new_tensor(p, 0, 1);
    OP(RET, 0, 1, 0, 0);
    tnk_program_end(p);
    return p;
}

static tnk_program *
captured(const char *call, bool allocates)
{
    return captured_of(NULL, call, allocates);
}

/* main(x): the tensor of test.shared becomes x + x by a kernel, or 2 x by a function of its own (`call`); main gives x. */
static tnk_program *
writing(const char *call)
{
    tnk_program *p = tnk_program_new(arena);
    uint32_t d = tnk_program_device(p, "late", 0, "global");
    uint32_t k = tnk_program_kernel(p, "add", 0, d, three, 3, NULL);
    begin(p, tnk_program_function(p, "main", TNB_TNO_PUBLIC, 1), 1, 3);
    if (call) {
        OPL(CALLP, 2, tnk_program_packed(p, call), V(0));
    } else {
        OPL(CALLP, 1, tnk_program_packed(p, "test.shared"), V(0));
        OPL(LAUNCH, 0, k, V(0), V(0), V(1));
    }
    OP(RET, 0, 0, 0, 0);
    tnk_program_end(p);
    return p;
}

/* main(x) = the tensor of test.shared, after `call` has changed it, + x */
static tnk_program *
reading(const char *call)
{
    tnk_program *p = tnk_program_new(arena);
    uint32_t d = tnk_program_device(p, "late", 0, "global");
    uint32_t k = tnk_program_kernel(p, "add", 0, d, three, 3, NULL);
    begin(p, tnk_program_function(p, "main", TNB_TNO_PUBLIC, 1), 1, 5);
    OPL(CALLP, 1, tnk_program_packed(p, "test.shared"), V(0));
    if (call)
        OPL(CALLP, 4, tnk_program_packed(p, call), V(1));
    new_tensor(p, 2, 3);
    OPL(LAUNCH, 0, k, V(1), V(0), V(3));
    OP(RET, 0, 3, 0, 0);
    tnk_program_end(p);
    return p;
}

/* ---- one use of the runtime ---- */

typedef struct use {
    tnr_runtime *rt;
    tnr_artifact *artifact[2];
    tnr_vm *vm[2];
    tnr_device *dev, *other;
    float host[N], out[N], back[N];
    bool wrong;
} use;

static tnr_plugin_desc plugin = {.head = TNB_PLUGIN_HEAD(tnr_plugin_desc, TNB_PLUGIN_RUNTIME,
                                                         "late", "1", "Apache-2.0", "for tests"),
                                 .drivers = drivers,
                                 .n_drivers = 1,
                                 .packed = packed,
                                 .n_packed = 5};

static void
use_begin(use *u, uint64_t seed, tnk_program *first, tnk_program *second)
{
    *u = (use){0};
    dev.seed = seed;
    dev.allocs = dev.replays = dev.captures = dev.updates = dev.asked = dev.peer_copies = 0;
    OK(tnr_runtime_new(NULL, &u->rt, &err));
    OK(tnr_runtime_add(u->rt, &plugin, &err));
    OK(tnr_device_open(u->rt, "late", 0, &u->dev, &err));
    OK(tnr_device_open(u->rt, "late", 1, &u->other, &err));
    OK(tnr_tensor_new(u->dev, dims, 1, TNB_F32, &shared, &err));
    for (int i = 0; i < 2; i++) {
        if (!(i ? second : first))
            continue;
        u->artifact[i] = assemble(i ? second : first, "late", NULL, 0);
        OK(tnr_vm_new(u->rt, u->artifact[i], 0, &u->vm[i], &err));
    }
    for (int i = 0; i < N; i++)
        u->host[i] = (float)(i + 1);
}

static void
use_end(use *u)
{
    tnr_release(&shared);
    for (int i = 0; i < 2; i++) {
        tnr_vm_free(u->vm[i]);
        tnr_artifact_close(u->artifact[i]);
    }
    tnr_runtime_free(u->rt);
}

static tnr_value
on_host(use *u)
{
    tnr_value v;
    OK(tnr_tensor_from(tnr_device_host(u->rt), u->host, dims, 1, TNB_F32, &v, &err));
    return v;
}

static tnr_value
call(use *u, int machine, tnr_value x)
{
    tnr_value ret;
    OK(tnr_vm_call(u->vm[machine], "main", &x, 1, &ret, &err));
    return ret;
}

/* host times `times` */
static void
expect(use *u, const float *got, float times)
{
    for (int i = 0; i < N; i++)
        u->wrong |= got[i] != times * (float)(i + 1);
}

static void
read_and_expect(use *u, tnr_value v, float times)
{
    memset(u->out, 0, sizeof u->out);
    OK(tnr_tensor_read(v.u.tensor, u->out, sizeof u->out, &err));
    expect(u, u->out, times);
}

/* ---- uses ---- */

static void
host_to_host(use *u)
{
    tnr_value x = on_host(u), y = call(u, 0, x);
    memset(tnr_tensor_data(x.u.tensor), 0, BYTES); /* the caller's again */
    read_and_expect(u, y, 4);
    tnr_release(&x);
    tnr_release(&y);
}

static void
written_without_waiting(use *u)
{
    tnr_value x, y;
    tnr_pending *p = NULL;
    OK(tnr_tensor_new(u->dev, dims, 1, TNB_F32, &x, &err));
    OK(tnr_tensor_write_start(x.u.tensor, u->host, BYTES, &p, &err));
    y = call(u, 0, x);
    read_and_expect(u, y, 4);
    tnr_pending_free(p);
    tnr_release(&x);
    tnr_release(&y);
}

static void
from_one_machine_to_another(use *u)
{
    tnr_value x, y, z;
    OK(tnr_tensor_from(u->dev, u->host, dims, 1, TNB_F32, &x, &err));
    y = call(u, 0, x);
    z = call(u, 1, y);
    read_and_expect(u, z, 8);
    tnr_release(&x);
    tnr_release(&y);
    tnr_release(&z);
}

static void
memory_used_again(use *u)
{
    tnr_value x[2], y;
    for (int i = 0; i < 2; i++) {
        OK(tnr_tensor_from(u->dev, u->host, dims, 1, TNB_F32, &x[i], &err));
        for (int k = 0; k < N; k++)
            u->host[k] *= 3;
    }
    y = call(u, 0, x[0]);
    tnr_release(&y); /* its kernels may not have run */
    y = call(u, 1, x[1]);
    read_and_expect(u, y, 12);
    OK(tnr_device_sync(u->dev, &err)); /* now they have */
    read_and_expect(u, y, 12);
    tnr_release(&x[0]);
    tnr_release(&x[1]);
    tnr_release(&y);
}

static void
read_without_waiting(use *u)
{
    tnr_value x = on_host(u), y = call(u, 0, x);
    tnr_pending *p = NULL;
    OK(tnr_tensor_read_start(y.u.tensor, u->back, BYTES, &p, &err));
    tnr_release(&y);
    OK(tnr_pending_wait(p, &err));
    expect(u, u->back, 4);
    tnr_pending_free(p);
    tnr_release(&x);
}

static void
asked_until_done(use *u)
{
    tnr_value x = on_host(u), y = call(u, 0, x);
    tnr_pending *p = NULL;
    bool done = false;
    OK(tnr_tensor_read_start(y.u.tensor, u->back, BYTES, &p, &err));
    while (!done)
        OK(tnr_pending_done(p, &done, &err));
    expect(u, u->back, 4);
    tnr_pending_free(p);
    tnr_release(&y);
    tnr_release(&x);
}

static void
library_on_its_own(use *u)
{
    tnr_value x = on_host(u), y = call(u, 0, x);
    read_and_expect(u, y, 8);
    tnr_release(&y);
    tnr_release(&x);
}

static void
all_of_the_device(use *u)
{
    tnr_value x = on_host(u), y = call(u, 0, x);
    tnr_pending *p = NULL;
    void *pinned = NULL;
    OK(tnr_pinned_new(u->dev, BYTES, &pinned, &err));
    memset(pinned, 0, BYTES);
    OK(tnr_tensor_read_start(y.u.tensor, pinned, BYTES, &p, &err));
    OK(tnr_device_sync(u->dev, &err));
    expect(u, pinned, 4);
    tnr_pending_free(p);
    tnr_pinned_free(u->dev, pinned);
    tnr_release(&y);
    tnr_release(&x);
}

static void
copied_on_the_device(use *u)
{
    tnr_value x = on_host(u), own_, y, z;
    OK(tnr_tensor_new(u->dev, dims, 1, TNB_F32, &own_, &err));
    y = call(u, 0, x);
    OK(tnr_tensor_copy(y.u.tensor, own_.u.tensor, &err));
    tnr_release(&y); /* its memory is the machine's again */
    z = call(u, 0, x);
    memset(u->host, 0, sizeof u->host);
    OK(tnr_tensor_write(z.u.tensor, u->host, BYTES, &err));
    read_and_expect(u, own_, 4);
    tnr_release(&x);
    tnr_release(&z);
    tnr_release(&own_);
}

static void
replayed(use *u)
{
    tnr_value x, y;
    OK(tnr_tensor_from(u->dev, u->host, dims, 1, TNB_F32, &x, &err));
    for (int i = 0; i < 4; i++) {
        float more[N];
        for (int k = 0; k < N; k++)
            more[k] = (float)(i + 1) * (float)(k + 1);
        OK(tnr_tensor_write(x.u.tensor, more, BYTES, &err));
        y = call(u, 0, x);
        read_and_expect(u, y, 2.0f * (float)(i + 1));
        tnr_release(&y);
    }
    assert_true(dev.captures == 1 && dev.replays == 3 && dev.updates == 0);
    tnr_release(&x);
}

static void
three_times(use *u, tnr_value *x)
{
    float more[N];
    for (int k = 0; k < N; k++)
        more[k] = 3 * u->host[k];
    OK(tnr_tensor_from(u->dev, u->host, dims, 1, TNB_F32, &x[0], &err));
    OK(tnr_tensor_from(u->dev, more, dims, 1, TNB_F32, &x[1], &err));
    OK(tnr_tensor_from(u->dev, u->host, dims, 1, TNB_F32, &x[2], &err));
}

/* The second machine reads what the first one writes, several times: shared = 2 x, 6 x, ...; `factor`: what the reader makes
 * of it. Its results may lie in one memory, so they are copied on the device. */
static void
hand_over(use *u, float factor)
{
    enum { TURNS = 4 };
    tnr_value x[3], y, none, kept[TURNS];
    three_times(u, x);
    for (int i = 0; i < TURNS; i++) {
        OK(tnr_tensor_new(u->dev, dims, 1, TNB_F32, &kept[i], &err));
        none = call(u, 0, x[i % 2]);
        y = call(u, 1, x[2]);
        OK(tnr_tensor_copy(y.u.tensor, kept[i].u.tensor, &err));
        tnr_release(&none);
        tnr_release(&y);
    }
    for (int i = TURNS; i-- > 0;) {
        read_and_expect(u, kept[i], factor * (i % 2 ? 6 : 2) + 1);
        tnr_release(&kept[i]);
    }
    for (int i = 0; i < 3; i++)
        tnr_release(&x[i]);
}

static void
shared_by_no_argument(use *u)
{
    hand_over(u, 1);
}

static void
shared_with_a_library(use *u)
{
    hand_over(u, 2);
}

/* The result of a graph lies in memory that its next launch writes. */
static void
result_of_a_graph(use *u)
{
    tnr_value x, y, z[3];
    OK(tnr_tensor_from(u->dev, u->host, dims, 1, TNB_F32, &x, &err));
    y = call(u, 0, x);
    tnr_release(&y);
    for (int i = 0; i < 2; i++) {
        y = call(u, 0, x); /* replayed */
        z[i] = call(
            u, 1,
            y); /* doubled in place by a library, so that a launch of the graph in front of it is seen */
        tnr_release(&y);
    }
    read_and_expect(u, z[1], 8);
    read_and_expect(u, z[0], 8);
    tnr_release(&z[0]);
    tnr_release(&z[1]);
    tnr_release(&x);
}

struct meanwhile {
    use *u;
    tnr_value x, y;
};

static void
call_the_second(void *user)
{
    struct meanwhile *m = user;
    m->y = call(m->u, 1, m->x);
}

/* Two machines read it at a time: the second one's call comes, as from another thread, between the first one's look at the order
 * and its launch. */
static void
taken_over_meanwhile(use *u)
{
    float zeros[N] = {0};
    tnr_value x[3], y;
    OK(tnr_tensor_write(shared.u.tensor, u->host, BYTES, &err));
    three_times(u, x);
    struct meanwhile m = {u, x[1], tnr_null()};
    dev.before_launch = call_the_second;
    dev.user = &m;
    y = call(u, 0, x[0]);
    OK(tnr_tensor_write(shared.u.tensor, zeros, BYTES, &err));
    read_and_expect(u, y, 2);
    read_and_expect(u, m.y, 4);
    for (int i = 0; i < 3; i++)
        tnr_release(&x[i]);
    tnr_release(&y);
    tnr_release(&m.y);
}

/* Between two devices: what the first one computes is copied and overwritten there. */
static void
between_devices(use *u)
{
    tnr_value x = on_host(u), y = call(u, 0, x), there, back;
    float zeros[N] = {0};
    OK(tnr_tensor_new(u->other, dims, 1, TNB_F32, &there, &err));
    OK(tnr_tensor_copy(y.u.tensor, there.u.tensor, &err));
    OK(tnr_tensor_write(y.u.tensor, zeros, BYTES, &err));
    OK(tnr_tensor_to(there.u.tensor, u->dev, &back, &err));
    OK(tnr_tensor_write(there.u.tensor, zeros, BYTES, &err));
    read_and_expect(u, back, 4);
    u->wrong |= dev.peer_copies != (dev.strangers ? 0 : 2);
    tnr_release(&x);
    tnr_release(&y);
    tnr_release(&there);
    tnr_release(&back);
}

/* By way of the host. */
static void
between_strangers(use *u)
{
    dev.strangers = true;
    between_devices(u);
    dev.strangers = false;
}

typedef enum programs { DOUBLING, GRAPH, SHARED, SHARED_GRAPH, READING } programs;

static const struct scenario {
    const char *name;
    void (*run)(use *u);
    const char *call[2]; /* of the programs of the two machines; "-": there is none */
    programs programs;
    bool shorter; /* the first program has one kernel */
} scenarios[] = {
    {"host to host", host_to_host, {NULL, "-"}, DOUBLING, false},
    {"written without waiting", written_without_waiting, {NULL, "-"}, DOUBLING, false},
    {"from one machine to another", from_one_machine_to_another, {NULL, NULL}, DOUBLING, true},
    {"memory used again", memory_used_again, {NULL, NULL}, DOUBLING, false},
    {"read without waiting", read_without_waiting, {NULL, "-"}, DOUBLING, false},
    {"asked until done", asked_until_done, {NULL, "-"}, DOUBLING, false},
    {"library on its own stream", library_on_its_own, {"test.own", "-"}, DOUBLING, false},
    {"all of the device", all_of_the_device, {NULL, "-"}, DOUBLING, false},
    {"copied on the device", copied_on_the_device, {NULL, "-"}, DOUBLING, false},
    {"replayed graph", replayed, {NULL, "-"}, GRAPH, false},
    {"shared by no argument", shared_by_no_argument, {NULL, NULL}, SHARED, false},
    {"shared within a function", shared_by_no_argument, {"test.set", NULL}, SHARED, false},
    {"shared with a library", shared_with_a_library, {NULL, "test.own"}, SHARED, false},
    {"shared with a graph", shared_by_no_argument, {NULL, NULL}, SHARED_GRAPH, false},
    {"result of a graph", result_of_a_graph, {NULL, NULL}, GRAPH, false},
    {"between devices", between_devices, {NULL, "-"}, DOUBLING, false},
    {"between devices that do not reach each other",
     between_strangers,
     {NULL, "-"},
     DOUBLING,
     false},
    {"taken over meanwhile", taken_over_meanwhile, {NULL, NULL}, READING, false},
};
enum { N_SCENARIOS = sizeof scenarios / sizeof *scenarios };

static tnk_program *
program(const struct scenario *s, int machine)
{
    const char *f = s->call[machine];
    if (f && f[0] == '-')
        return NULL;
    switch (s->programs) {
    case GRAPH:
        return machine ? doubling(f, true) : captured(f, false);
    case SHARED:
        return machine ? reading(f) : writing(f);
    case READING:
        return reading(f);
    case SHARED_GRAPH:
        return machine ? captured_of("test.shared", f, false) : writing(f);
    default:
        return doubling(f, machine || !s->shorter);
    }
}

/* Whether it gives what it should; seen: how many waits of each kind there were. */
static bool
right(const struct scenario *s, uint64_t seed, simacc_wait forget, unsigned n,
      unsigned seen[SIMACC_N_WAITS])
{
    use u;
    arena = tnb_arena_new();
    use_begin(&u, seed, program(s, 0), program(s, 1));
    simacc_queue_forget(dev.q, forget, n);
    s->run(&u);
    for (int i = 0; seen && i < SIMACC_N_WAITS; i++)
        seen[i] = simacc_queue_waits(dev.q, i);
    simacc_queue_forget(dev.q, 0, 0);
    use_end(&u);
    tnb_arena_free(arena);
    return !u.wrong;
}

static void
test_every_use_is_right_for_every_seed(void **state)
{
    (void)state;
    for (int i = 0; i < N_SCENARIOS; i++)
        for (uint64_t seed = 0; seed < 4 * SEEDS; seed++)
            if (!right(&scenarios[i], seed, 0, 0, NULL))
                fail_msg("%s is wrong with seed %d", scenarios[i].name, (int)seed);
}

/* Each of these waits, taken out, is seen: which wait of a use, counted by kind from 1. */
static const struct planted {
    int scenario;
    simacc_wait kind;
    unsigned n;
    const char *what;
} planted[] = {
    {0, SIMACC_FOR_EVENT, 1, "the caller's memory, until it was copied"},
    {0, SIMACC_FOR_COPY, 1, "a result, until it was computed and copied"},
    {1, SIMACC_BETWEEN_STREAMS, 1, "a machine, for what the caller wrote"},
    {2, SIMACC_BETWEEN_STREAMS, 2, "a machine, for the result of another one"},
    {3, SIMACC_BETWEEN_STREAMS, 0, "a block of the pool, for who had it"},
    {4, SIMACC_FOR_EVENT, 2, "a copy that was started"},
    {5, SIMACC_ASK_EVENT, 1, "whether a copy is done"},
    {6, SIMACC_BETWEEN_STREAMS, 1, "a library, for the machine in front of it"},
    {6, SIMACC_BETWEEN_STREAMS, 2, "the machine, for a library in front of it"},
    {7, SIMACC_FOR_STREAM, 0, "the whole device, for its streams"},
    {8, SIMACC_BETWEEN_STREAMS, 1, "a copy on the device, for what is copied"},
    {8, SIMACC_BETWEEN_STREAMS, 2, "who gets memory next, for a copy of what it held"},
    {9, SIMACC_FOR_COPY, 0, "a result, for the graph that computes it"},
    {10, SIMACC_BETWEEN_STREAMS, 0, "a machine, for another one's kernels with what both share"},
    {11, SIMACC_BETWEEN_STREAMS, 0, "a machine, for another one's function with what both share"},
    {12, SIMACC_BETWEEN_STREAMS, 0, "a library, for another machine in front of it"},
    {13, SIMACC_BETWEEN_STREAMS, 0, "a graph, for another machine in front of it"},
    {14, SIMACC_BETWEEN_STREAMS, 0, "a graph, for who reads the result of its last launch"},
    {17, SIMACC_BETWEEN_STREAMS, 0,
     "who changes memory next, for two machines that read it at a time"},
    {15, SIMACC_FOR_STREAM, 1, "another device, for what is copied to it"},
    {15, SIMACC_FOR_STREAM, 2, "who changes memory next, for a copy to another device"},
};
enum { N_PLANTED = sizeof planted / sizeof *planted };

static bool
is_seen(const struct scenario *s, simacc_wait kind, unsigned n)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        if (!right(s, seed, kind, n, NULL))
            return true;
    return false;
}

static void
test_every_missing_wait_is_seen(void **state)
{
    (void)state;
    assert_true(N_PLANTED >= 10);
    for (int i = 0; i < N_PLANTED; i++) {
        const struct planted *p = &planted[i];
        const struct scenario *s = &scenarios[p->scenario];
        unsigned n[SIMACC_N_WAITS];
        bool seen = false;
        assert_true(right(s, 1, 0, 0, n));
        for (unsigned k = p->n ? p->n : 1; k <= (p->n ? p->n : n[p->kind]) && !seen; k++)
            seen = is_seen(s, p->kind, k); /* 0: one of them is */
        if (!seen)
            fail_msg("not seen: %s (%s)", p->what, s->name);
    }
}

/* ---- graphs ---- */

static void
test_other_memory_updates_the_graph(void **state)
{
    use u;
    tnr_value x, other, y;
    (void)state;
    arena = tnb_arena_new();
    use_begin(&u, 5, captured(NULL, false), NULL);
    OK(tnr_tensor_from(u.dev, u.host, dims, 1, TNB_F32, &x, &err));
    OK(tnr_tensor_from(u.dev, u.host, dims, 1, TNB_F32, &other, &err));
    for (int i = 0; i < 6; i++) {
        y = call(&u, 0, i % 2 ? other : x);
        read_and_expect(&u, y, 2);
        tnr_release(&y);
    }
    assert_true(dev.captures == 6 && dev.updates == 5 && dev.replays == 0);
    for (int i = 0; i < 3; i++) {
        y = call(&u, 0, other);
        read_and_expect(&u, y, 2);
        tnr_release(&y);
    }
    assert_int_equal(dev.replays, 3);
    assert_false(u.wrong);
    tnr_release(&x);
    tnr_release(&other);
    use_end(&u);
    tnb_arena_free(arena);
}

static void
test_capture_permits_neither_waits_nor_allocations(void **state)
{
    static const struct {
        const char *call;
        bool allocates;
        const char *text;
    } all[] = {{NULL, true, "function 'work', instruction "},
               {NULL, true, "memory of the device is asked for while a graph is captured"},
               {"test.own", false,
                "'test.own' is called, which may wait for the device or ask for its memory, while "
                "a graph"},
               {"test.blocking", false, "'test.blocking' is called"},
               {"vm.builtin.copy", false, "'vm.builtin.copy' is called"},
               {"vm.builtin.read_if_cond", false, ""}};
    (void)state;
    for (size_t i = 0; i + 1 < sizeof all / sizeof *all; i++) {
        use u;
        tnr_value x, ret;
        arena = tnb_arena_new();
        use_begin(&u, 7, captured(all[i].call, all[i].allocates), NULL);
        OK(tnr_tensor_from(u.dev, u.host, dims, 1, TNB_F32, &x, &err));
        for (int again = 0; again < 2; again++) /* and the machine lives on */
            FAILS(tnr_vm_call(u.vm[0], "main", &x, 1, &ret, &err), TNB_UNSUPPORTED, all[i].text);
        tnr_release(&x);
        use_end(&u);
        tnb_arena_free(arena);
    }
    use u;
    tnr_value x, y;
    arena = tnb_arena_new();
    use_begin(&u, 7, captured("test.machine", false), NULL);
    OK(tnr_tensor_from(u.dev, u.host, dims, 1, TNB_F32, &x, &err));
    for (int i = 0; i < 3; i++) {
        y = call(&u, 0, x);
        read_and_expect(&u, y, 4);
        tnr_release(&y);
    }
    assert_true(!u.wrong && dev.captures == 1 && dev.replays == 2);
    tnr_release(&x);
    use_end(&u);
    tnb_arena_free(arena);
}

/* ---- calls of the driver that fail ---- */

/* Two calls of a machine, a copy that is not waited for: all is right, or an error with a message. False: nothing failed. */
static bool
survives(tnk_program *p, int fail)
{
    use u = {0};
    tnr_value x = tnr_null(), y;
    tnr_pending *pending = NULL;
    tnb_err why = {0};
    dev.seed = 4;
    dev.calls = 0;
    dev.fail = fail;
    OK(tnr_runtime_new(NULL, &u.rt, &err));
    OK(tnr_runtime_add(u.rt, &plugin, &err));
    u.artifact[0] = assemble(p, "late", NULL, 0);
    for (int i = 0; i < N; i++)
        u.host[i] = (float)(i + 1);
    tnb_status st = tnr_vm_new(u.rt, u.artifact[0], 0, &u.vm[0], &why);
    for (int i = 0; st == TNB_OK && i < 3; i++) {
        x = on_host(&u);
        st = tnr_vm_call(u.vm[0], "main", &x, 1, &y, &why);
        if (st == TNB_OK) {
            st = tnr_tensor_read_start(y.u.tensor, u.back, BYTES, &pending, &why);
            if (st == TNB_OK)
                st = tnr_pending_wait(pending, &why);
            if (st == TNB_OK)
                expect(&u, u.back, 4);
            tnr_pending_free(pending);
            pending = NULL;
            tnr_release(&y);
        }
        tnr_release(&x);
    }
    assert_false(u.wrong);
    assert_true(st == TNB_OK || why.message[0]);
    bool failed = dev.calls >= fail;
    dev.fail = 0;
    if (st != TNB_OK && u.vm[0]) { /* the machine can be called again */
        x = on_host(&u);
        y = call(&u, 0, x);
        read_and_expect(&u, y, 4);
        assert_false(u.wrong);
        tnr_release(&x);
        tnr_release(&y);
    }
    use_end(&u);
    return failed;
}

static void
test_every_call_of_the_driver_may_fail(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        int n = 0;
        bool graph = kind & 1;
        dev.silent = kind & 2;
        do {
            arena = tnb_arena_new();
            n++;
        } while (
            survives(graph ? captured("test.machine", false) : doubling("test.own", false), n) &&
            (tnb_arena_free(arena), true));
        tnb_arena_free(arena);
        assert_true(n > 15);
    }
    dev.silent = false;
}

/* ---- several threads ---- */

typedef struct caller {
    use *u;
    int machine;
    tnr_value x;
    bool wrong;
} caller;

static void *
call_often(void *p)
{
    caller *c = p;
    for (int i = 0; i < 100; i++) {
        tnr_value y;
        float got[N];
        c->wrong |= tnr_vm_call(c->u->vm[c->machine], "main", &c->x, 1, &y, NULL) != TNB_OK ||
                    tnr_tensor_read(y.u.tensor, got, sizeof got, NULL) != TNB_OK;
        for (int k = 0; k < N; k++)
            c->wrong |= got[k] != 4 * (float)(k + 1);
        tnr_release(&y);
    }
    return NULL;
}

static void
test_machines_of_two_threads_share_an_argument(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        use u;
        tnr_value x;
        pthread_t thread;
        arena = tnb_arena_new();
        use_begin(&u, seed, doubling(NULL, true), doubling(NULL, true));
        OK(tnr_tensor_from(u.dev, u.host, dims, 1, TNB_F32, &x, &err));
        caller a = {&u, 0, x, false}, b = {&u, 1, x, false};
        assert_int_equal(pthread_create(&thread, NULL, call_often, &a), 0);
        call_often(&b);
        pthread_join(thread, NULL);
        assert_false(a.wrong || b.wrong);
        tnr_release(&x);
        use_end(&u);
        tnb_arena_free(arena);
    }
}

/* ---- groups of a driver's functions ---- */

static void
test_a_group_is_whole_or_not_there(void **state)
{
    tnr_driver d = late;
    const tnr_driver *const one[] = {&d};
    tnr_plugin_desc own_plugin = plugin;
    tnr_runtime *rt = NULL;
    (void)state;
    own_plugin.drivers = one;
#define WITHOUT(member)                                                                 \
    do {                                                                                \
        d = late;                                                                       \
        d.member = NULL;                                                                \
        OK(tnr_runtime_new(NULL, &rt, &err));                                           \
        FAILS(tnr_runtime_add(rt, &own_plugin, &err), TNB_INVALID,                      \
              "the driver 'late' has no `" #member "`; it needs all of, or none of: "); \
        tnr_runtime_free(rt);                                                           \
    } while (0)
    WITHOUT(stream_free);
    WITHOUT(event_wait);
    WITHOUT(event_done);
    WITHOUT(peer_copy);
    WITHOUT(pinned_free);
    WITHOUT(graph_update);
#undef WITHOUT
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_use_is_right_for_every_seed),
        cmocka_unit_test(test_every_missing_wait_is_seen),
        cmocka_unit_test(test_other_memory_updates_the_graph),
        cmocka_unit_test(test_capture_permits_neither_waits_nor_allocations),
        cmocka_unit_test(test_every_call_of_the_driver_may_fail),
        cmocka_unit_test(test_machines_of_two_threads_share_an_argument),
        cmocka_unit_test(test_a_group_is_whole_or_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
