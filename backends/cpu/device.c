/* SPDX-License-Identifier: Apache-2.0 */
/* The cpu backend, device half: memory of the host, kernels from one shared object that is loaded
 * from memory.
 *
 * Kernels run in the calling thread and the device's team (team.h, tenon/base/kernel_abi.h).
 * Settings of [device cpu]: none but the runtime's number of threads.
 */
#include "config.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "features.h"
#include "object.h"
#include "team.h"
#include "tiles.h"
#include "tenon/base/kernel_abi.h"
#include "tenon/base/mem.h"
#include "tenon/base/threads.h"
#include "tenon/rt/plugin.h"

enum { CPU_ALIGN = 64, CPU_HUGE = 2 << 20, CPU_FEW = 32 };

/* Temporary memory of one launch; kept for the next one. */
struct cpu_workspace {
    struct cpu_workspace *next;
    struct cpu_device *device;
    void **blocks;
    size_t *sizes;
    uint32_t n, cap, used; /* blocks [0, used) were handed out in this launch */
};

struct cpu_device {
    int threads;
    const tnr_allocator *allocator; /* of the embedding program; NULL: none */
    const tnr_thread_pool *pool;
    atomic_bool tiles; /* an object was loaded whose kernels use matrix tiles */
    cpu_team *team;
    pthread_mutex_t lock; /* of the list */
    struct cpu_workspace *idle;
    tnr_property properties[3];
};

/* ---- memory ---- */

/* From the embedding program, which may not know of alignment: kernels would crash in such memory. */
static tnb_status
get_from_program(const tnr_allocator *a, void **mem, uint64_t bytes, tnb_err *err)
{
    *mem = a->alloc(a->user, bytes ? bytes : 1, CPU_ALIGN);
    unsigned off = (unsigned)((uintptr_t)*mem % CPU_ALIGN);
    if (!*mem)
        return tnb_fail(err, TNB_NO_MEMORY,
                        "the program's allocator has no memory for %" PRIu64 " bytes", bytes);
    if (!off)
        return TNB_OK;
    a->free(a->user, *mem);
    (void)tnb_fail(err, TNB_INVALID,
                   "the program's allocator was asked for memory at a multiple of %d, and gave "
                   "some %u bytes behind one",
                   CPU_ALIGN, off);
    tnb_hint(err,
             "let tnr_allocator.alloc keep to its argument `alignment`, as aligned_alloc does");
    return TNB_INVALID;
}

/* Much of it lies in large pages, where the system has some to give. */
static tnb_status
get_memory(const struct cpu_device *d, void **mem, uint64_t bytes, tnb_err *err)
{
    size_t align = bytes >= 2 * CPU_HUGE ? CPU_HUGE : CPU_ALIGN;
    if (d->allocator && bytes <= PTRDIFF_MAX)
        return get_from_program(d->allocator, mem, bytes, err);
    if (bytes > PTRDIFF_MAX || posix_memalign(mem, align, bytes ? bytes : 1) != 0)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for %" PRIu64 " bytes", bytes);
    if (align == CPU_HUGE)
        (void)madvise(*mem, bytes / CPU_HUGE * CPU_HUGE, MADV_HUGEPAGE); /* a wish only */
    return TNB_OK;
}

static void
give_memory(const struct cpu_device *d, void *mem)
{
    if (d->allocator && mem)
        d->allocator->free(d->allocator->user, mem);
    else
        free(mem);
}

/* ---- opening ---- */

static void
cpu_set_threads(void *dev, int threads)
{
    ((struct cpu_device *)dev)->threads = threads > 0 ? threads : (int)tnb_threads_default();
}

static tnb_status
cpu_open(void *self, int id, const tnr_device_options *opt, void **dev, tnb_err *err)
{
    (void)self, (void)id;
    struct cpu_device *d = calloc(1, sizeof *d);
    if (d)
        d->team = cpu_team_new();
    if (!d || !d->team) {
        free(d);
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to open the cpu device");
    }
    pthread_mutex_init(&d->lock, NULL);
    cpu_set_threads(d, opt ? opt->threads : 0);
    d->allocator = opt ? opt->allocator : NULL;
    d->pool = opt ? opt->pool : NULL;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    d->properties[0] = (tnr_property){.name = "memory_bytes",
                                      .type = TNR_PROPERTY_INT,
                                      .u.i = pages > 0 && page > 0 ? (int64_t)pages * page : 0,
                                      .doc = "memory of the machine"};
    d->properties[1] = (tnr_property){.name = "units",
                                      .type = TNR_PROPERTY_INT,
                                      .u.i = tnb_threads_default(),
                                      .doc = "processors that this process may use"};
    d->properties[2] =
        (tnr_property){.name = "unified_memory", .type = TNR_PROPERTY_BOOL, .u.b = true};
    *dev = d;
    return TNB_OK;
}

static void
free_workspace(const struct cpu_device *d, struct cpu_workspace *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        give_memory(d, w->blocks[i]);
    free(w->blocks);
    free(w->sizes);
    free(w);
}

static void
cpu_close(void *dev)
{
    struct cpu_device *d = dev;
    while (d->idle) {
        struct cpu_workspace *next = d->idle->next;
        free_workspace(d, d->idle);
        d->idle = next;
    }
    cpu_team_free(d->team);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

static void
list_features(char *out, size_t n, const char *const *names, uint32_t count)
{
    size_t at = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < count && at < n; i++)
        at += (size_t)snprintf(out + at, n - at, "%s%s", i ? " " : "", names[i]);
}

static void
cpu_describe(void *dev, char *out, size_t n)
{
    const char *names[CPU_MAX_FEATURES];
    char list[4096];
    uint32_t count = cpu_features(names, CPU_MAX_FEATURES);
    list_features(list, sizeof list, names, count);
    snprintf(out, n, "%d threads; %s", ((struct cpu_device *)dev)->threads, list);
}

static const tnr_property *
cpu_properties(void *dev, uint32_t *n)
{
    struct cpu_device *d = dev;
    *n = sizeof d->properties / sizeof *d->properties;
    return d->properties;
}

static tnb_status
cpu_check_features(void *dev, const char *const *wanted, uint32_t n, tnb_err *err)
{
    const char *names[CPU_MAX_FEATURES], *missing = NULL;
    uint32_t count = cpu_features(names, CPU_MAX_FEATURES);
    (void)dev;
    for (uint32_t i = 0; i < n && !missing; i++) {
        bool found = false;
        for (uint32_t k = 0; k < count; k++)
            found |= strcmp(names[k], wanted[i]) == 0;
        if (!found)
            missing = wanted[i];
    }
    if (!missing)
        return TNB_OK;
    char need[256], have[384];
    list_features(need, sizeof need, wanted, n);
    list_features(have, sizeof have, names, count);
    (void)tnb_fail(err, TNB_UNSUPPORTED,
                   "the processor lacks '%s': the code needs [%s], this machine has [%s]", missing,
                   need, have);
    tnb_hint(
        err,
        "compile the model for this machine, for instance with --set target.cpu.features=native");
    return TNB_UNSUPPORTED;
}

/* ---- storages ---- */

static tnb_status
cpu_alloc(void *dev, uint64_t bytes, const char *scope, void **mem, tnb_err *err)
{
    if (strcmp(scope, "global") != 0 && strcmp(scope, "host") != 0)
        return tnb_fail(err, TNB_UNSUPPORTED, "the cpu device has no memory of scope '%s'", scope);
    return get_memory(dev, mem, bytes, err);
}

static void
cpu_free(void *dev, void *mem)
{
    give_memory(dev, mem);
}

/* ---- modules ---- */

/* Objects tell by a symbol that their kernels use matrix tiles, which the system has to allow. */
static tnb_status
allow_tiles(struct cpu_device *d, void *module, tnb_err *err)
{
    void *symbol;
    tnb_err none;
    if (d->tiles || cpu_object_kernel(module, CPU_TILES_SYMBOL, &symbol, &none) != TNB_OK)
        return TNB_OK;
    TNB_TRY(cpu_tiles_allow(err));
    d->tiles = true;
    return TNB_OK;
}

static tnb_status
cpu_module_load(void *dev, const char *format, const void *code, size_t n, void **module,
                tnb_err *err)
{
    if (strcmp(format, "elf") != 0)
        return tnb_fail(err, TNB_UNSUPPORTED, "the cpu device takes code of format 'elf', not '%s'",
                        format);
    TNB_TRY(cpu_object_open(code, n, module, err));
    tnb_status st = allow_tiles(dev, *module, err);
    if (st != TNB_OK)
        cpu_object_close(*module);
    return st;
}

static void
cpu_module_free(void *dev, void *module)
{
    (void)dev;
    cpu_object_close(module);
}

static tnb_status
cpu_module_kernel(void *dev, void *module, const char *name, void **kernel, tnb_err *err)
{
    (void)dev;
    return cpu_object_kernel(module, name, kernel, err);
}

/* ---- launches ---- */

static struct cpu_workspace *
take_workspace(struct cpu_device *d)
{
    pthread_mutex_lock(&d->lock);
    struct cpu_workspace *w = d->idle;
    if (w)
        d->idle = w->next;
    pthread_mutex_unlock(&d->lock);
    w = w ? w : calloc(1, sizeof *w);
    if (w)
        w->device = d;
    return w;
}

static void
give_workspace(struct cpu_device *d, struct cpu_workspace *w)
{
    w->used = 0;
    pthread_mutex_lock(&d->lock);
    w->next = d->idle;
    d->idle = w;
    pthread_mutex_unlock(&d->lock);
}

/* The next block of the launch, of at least `bytes`: the one that was there in the last launch, if
 * it is large enough. */
static void *
workspace_block(struct cpu_workspace *w, size_t bytes)
{
    if (w->used == w->cap) {
        uint32_t cap = w->cap ? w->cap * 2 : 8;
        void **blocks = realloc(w->blocks, cap * sizeof *blocks);
        if (blocks)
            w->blocks = blocks;
        size_t *sizes = realloc(w->sizes, cap * sizeof *sizes);
        if (sizes)
            w->sizes = sizes;
        if (!blocks || !sizes)
            return NULL;
        w->cap = cap;
    }
    if (w->used == w->n) {
        w->blocks[w->n] = NULL;
        w->sizes[w->n++] = 0;
    }
    uint32_t i = w->used;
    if (w->sizes[i] < bytes || !w->blocks[i]) {
        give_memory(w->device, w->blocks[i]);
        w->sizes[i] = 0;
        if (get_memory(w->device, &w->blocks[i], bytes, NULL) != TNB_OK) {
            w->blocks[i] = NULL;
            return NULL;
        }
        w->sizes[i] = bytes;
    }
    w->used++;
    return w->blocks[i];
}

static void *
kernel_workspace(tnb_kernel_env *env, size_t bytes)
{
    return workspace_block(env->user, bytes);
}

/* A part of a kernel that uses matrix tiles. */
typedef struct tiled_part {
    tnb_kernel_part part;
    void *args;
} tiled_part;

static void
run_tiled(void *args, int64_t from, int64_t to, int32_t thread)
{
    const tiled_part *t = args;
    cpu_tiles_configure();
    t->part(t->args, from, to, thread);
    cpu_tiles_release();
}

static void
kernel_team(tnb_kernel_env *env, tnb_kernel_part part, void *args, int64_t min, int64_t n)
{
    const struct cpu_workspace *w = env->user;
    bool few = env->worth > 0 && env->worth < env->threads;
    tiled_part tiled = {part, args};
    bool tiles = w->device->tiles;
    const tnr_thread_pool *pool = w->device->pool;
    int most = few ? env->worth : env->threads;
    if (pool)
        pool->run(pool->user, tiles ? run_tiled : part, tiles ? &tiled : args, min, n, most);
    else
        cpu_team_run(w->device->team, most, tiles ? run_tiled : part, tiles ? &tiled : args, min,
                     n);
    if (tiles)
        cpu_tiles_configure(); /* this thread ran parts, too */
}

/* Kernels rely on the alignment of their buffers. One that is not aligned (a caller's own memory)
 * is replaced by a copy. */
static tnb_status
align_buffer(const tnr_memory *m, uint32_t i, void **buffer, struct cpu_workspace *w, tnb_err *err)
{
    *buffer = workspace_block(w, m->bytes);
    if (!*buffer)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for an aligned copy of argument %" PRIu32,
                        i);
    if (m->bytes)
        memcpy(*buffer, (char *)m->mem + m->offset, m->bytes);
    return TNB_OK;
}

/* What a kernel is called with: at most as many buffers, and scalars, as it has parameters. */
struct cpu_call {
    void **buffers;
    tnb_kernel_scalar *scalars;
    tnb_kernel_refusal *refused;
    bool copied; /* a buffer is a copy */
};

static tnb_status
gather(const tnr_launch *l, struct cpu_call *c, struct cpu_workspace *w, tnb_err *err)
{
    uint32_t n = 0, scalars = 0;
    for (uint32_t i = 0; i < l->n_params; i++) {
        const tnr_param *p = &l->params[i];
        char *at;
        switch (p->kind) {
        case TNB_PARAM_BUFFER:
            at = (char *)p->u.memory.mem + p->u.memory.offset;
            c->buffers[n] = at;
            if ((uintptr_t)at % CPU_ALIGN != 0) {
                c->copied = true;
                TNB_TRY(align_buffer(&p->u.memory, i, &c->buffers[n], w, err));
            }
            n++;
            break;
        case TNB_PARAM_SCALAR:
            c->scalars[scalars++].i = p->u.scalar.i; /* doubles as bits */
            break;
        case TNB_PARAM_REFUSED:
            c->refused = p->u.memory.mem;
            break;
        case TNB_PARAM_TAG: /* one kernel runs at a time */
            break;
        default:
            return tnr_refuse_param(l, i, err);
        }
    }
    return TNB_OK;
}

static void
copy_back(const tnr_launch *l, void *const *buffers)
{
    for (uint32_t i = 0; i < l->n_params; i++) {
        const tnr_param *p = &l->params[i];
        if (p->kind != TNB_PARAM_BUFFER)
            continue;
        char *at = (char *)p->u.memory.mem + p->u.memory.offset;
        if (*buffers != at && p->written && p->u.memory.bytes)
            memcpy(at, *buffers, p->u.memory.bytes);
        buffers++;
    }
}

static tnb_status
run_kernel(struct cpu_device *d, struct cpu_workspace *w, tnb_cpu_kernel fn, const tnr_launch *l,
           struct cpu_call *call, tnb_err *err)
{
    TNB_TRY(gather(l, call, w, err));
    tnb_kernel_env env = {.threads = d->threads,
                          .workspace = kernel_workspace,
                          .user = w,
                          .team = kernel_team,
                          .refused = call->refused};
    bool tiles = d->tiles;
    if (tiles)
        cpu_tiles_configure();
    int32_t rc = fn(call->buffers, call->scalars, &env);
    if (tiles)
        cpu_tiles_release();
    if (rc == TNB_KERNEL_NO_MEMORY)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for the kernel's temporaries");
    if (rc == TNB_KERNEL_REFUSED)
        return tnb_fail(err, TNB_BOUNDS, "an index is out of range");
    if (rc != TNB_KERNEL_OK)
        return tnb_fail(err, TNB_INVALID, "assertion %" PRId32 " of the kernel failed", rc);
    if (call->copied)
        copy_back(l, call->buffers);
    return TNB_OK;
}

static tnb_status
cpu_launch(void *dev, void *stream, void *kernel, const tnr_launch *l, tnb_err *err)
{
    void *few[CPU_FEW], **all = few;
    tnb_kernel_scalar scalars[CPU_FEW];
    struct cpu_call call = {.buffers = few, .scalars = scalars};
    if (l->n_params > CPU_FEW) {
        all = malloc(l->n_params * (sizeof *all + sizeof *call.scalars));
        call.buffers = all;
        call.scalars = (tnb_kernel_scalar *)(void *)(all + l->n_params);
    }
    struct cpu_workspace *w = all ? take_workspace(dev) : NULL;
    tnb_cpu_kernel fn;
    (void)stream;
    memcpy(&fn, &kernel, sizeof fn);
    tnb_status st = w ? run_kernel(dev, w, fn, l, &call, err)
                      : tnb_fail(err, TNB_NO_MEMORY, "no memory for a launch");
    if (w)
        give_workspace(dev, w);
    if (all != few)
        free(all);
    return st;
}

static const char *const cpu_formats[] = {"elf", NULL};

static const tnr_setting cpu_settings[] = {{0}}; /* [device cpu] has no keys */

static const tnr_driver cpu_driver = {
    .base.size = sizeof(tnr_driver),
    .flags = TNR_DRIVER_HOST_MEMORY | TNR_DRIVER_NATIVE,
    .base.name = "cpu",
    .base.doc = "the processor of this machine",
    .type = TNB_CPU,
    .alignment = CPU_ALIGN,
    .count = tnr_host_count,
    .open = cpu_open,
    .close = cpu_close,
    .describe = cpu_describe,
    .check_features = cpu_check_features,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .copy = tnr_host_copy,
    .zero = tnr_host_zero,
    .sync = tnr_host_sync,
    .formats = cpu_formats,
    .module_load = cpu_module_load,
    .module_free = cpu_module_free,
    .module_kernel = cpu_module_kernel,
    .launch = cpu_launch,
    .set_threads = cpu_set_threads,
    .settings = cpu_settings,
    .properties = cpu_properties,
};

static const tnr_driver *const cpu_drivers[] = {&cpu_driver};

TNR_PLUGIN(cpu_rt, PACKAGE_VERSION, "Apache-2.0", "runs kernels on the processor",
           .drivers = cpu_drivers, .n_drivers = 1);
