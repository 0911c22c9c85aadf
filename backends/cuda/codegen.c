/* SPDX-License-Identifier: Apache-2.0 */
/* Code generation of the cuda target: each kernel becomes a text of CUDA C++, NVRTC makes PTX and a cubin of it, all of a variant
 * are one payload (payload.h).
 *
 * Several kernels are compiled at once, in threads. What NVRTC made is kept by the hash of all that it depends on: text, options,
 * architecture, version.
 */
#include "cuda.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "nvrtc.h"
#include "payload.h"
#include "tenon/base/cache.h"
#include "tenon/base/hash.h"
#include "tenon/kit/cost.h"
#include "tenon/kit/emit.h"

enum { MAX_JOBS = 64 };

typedef struct unit {
    const char *text;
    const char *key;
    const char *ptx, *cubin; /* in the arena */
    size_t n_ptx, n_cubin;
    uint32_t registers, spilled; /* cuda_object */
    cuda_object made;            /* by a thread */
    tnb_status status;
    tnb_err err;
} unit;

typedef struct work {
    tnk_build *b;
    tn_ctx *ctx;
    const char *arch;
    cuda_nvrtc *nvrtc;
    tnb_cache cache;
    tnk_kernel *kernels;
    unit *units;
    uint32_t n;
    uint32_t *missing, n_missing; /* units to compile */
    atomic_uint next;
} work;

int64_t
cuda_threads(const tnk_kernel *k)
{
    int64_t threads = 1, n;
    for (int i = 0; i < 3; i++) {
        if (k->block[i] && !tn_int_value(k->block[i], &n))
            return 0;
        threads *= k->block[i] ? n : 1;
    }
    return threads;
}

/* ---- source ---- */

/* A tensor program that no rule has scheduled would run on one thread, if at all. One that has been, and whose loops all fell away,
 * is for one thread. */
static bool
is_scheduled(tn_ctx *ctx, const tnk_kernel *k)
{
    if (tn_func_attr(k->func, "tirx.is_scheduled") || tn_func_attr(k->func, "tir.is_scheduled"))
        return true;
    for (int i = 0; i < 3; i++)
        if (k->grid[i] || k->block[i])
            return true;
    tn_error(ctx, k->func->loc, TNB_UNSUPPORTED,
             "tensor program '%s' has no schedule: none of its loops is bound to threads", k->name);
    tnb_diag_note(tn_diags(ctx), "no rule of ApplyDefaultSchedule in the list `legalize` takes it");
    tnb_diag_hint(
        tn_diags(ctx),
        "add a rule to the list: [pipeline cuda] in an INI file, rules of a plugin; tenon show "
        "pipeline cuda");
    return false;
}

static bool
fits(const work *w, const tnk_kernel *k)
{
    int64_t threads = cuda_threads(k),
            allowed = tn_dict_int(w->b->target->attrs, "max_threads_per_block", 1024);
    if (threads <= allowed)
        return true;
    tn_error(w->ctx, k->func->loc, TNB_UNSUPPORTED,
             "kernel '%s': its blocks have %lld threads, the target allows %lld", k->name,
             (long long)threads, (long long)allowed);
    tnb_diag_hint(
        tn_diags(w->ctx),
        "another schedule, or set max_threads_per_block in the target's section to what the device "
        "has");
    return false;
}

static bool
emit(work *w, uint32_t i)
{
    tnk_kernel *k = &w->kernels[i];
    tnk_source *src = tnk_source_new(w->ctx, &cuda_dialect);
    if (!is_scheduled(w->ctx, k) || !fits(w, k) || !cuda_has_barriers(w->ctx, k, w->arch) ||
        !tnk_source_add(src, k))
        return false;
    tnb_buf text = {0};
    tnk_source_text(src, &text);
    w->units[i].text = tnb_strndup(tn_arena(w->ctx), text.s ? text.s : "", text.n);
    tnb_buf_free(&text);
    if (w->b->keep_source)
        k->source = tnb_strdup(tn_arena(w->ctx), tnk_source_last(src));
    return true;
}

/* ---- the cache: a head, PTX, cubin ---- */

typedef struct kept {
    uint64_t n_ptx;
    uint32_t registers, spilled;
} kept;

static const char *
key_of(const work *w, const char *text)
{
    tnb_buf b = {0};
    tnb_buf_printf(&b, "cuda kernel 2\n%s\n%s\n", cuda_nvrtc_version(w->nvrtc), w->arch);
    for (const char *const *o = cuda_nvrtc_options; *o; o++)
        tnb_buf_printf(&b, "%s\n", *o);
    tnb_buf_puts(&b, text);
    tnb_hash_text t = tnb_hash_print(tnb_hash_128(b.s, b.n));
    tnb_buf_free(&b);
    return tnb_strdup(tn_arena(w->ctx), t.s);
}

static bool
from_cache(work *w, unit *u)
{
    size_t n = 0;
    const char *bytes = tnb_cache_get(tn_arena(w->ctx), &w->cache, u->key, &n);
    kept head;
    if (!bytes || n < sizeof head)
        return false;
    memcpy(&head, bytes, sizeof head);
    n -= sizeof head;
    bytes += sizeof head;
    if (head.n_ptx == 0 || head.n_ptx > n || bytes[head.n_ptx - 1] != '\0')
        return false;
    u->ptx = bytes;
    u->n_ptx = head.n_ptx;
    u->cubin = bytes + head.n_ptx;
    u->n_cubin = n - head.n_ptx;
    u->registers = head.registers;
    u->spilled = head.spilled;
    return true;
}

static void
keep(work *w, const unit *u)
{
    tnb_buf b = {0};
    tnb_err err = {0};
    const kept head = {u->n_ptx, u->registers, u->spilled};
    if (!w->cache.dir)
        return;
    tnb_buf_put(&b, &head, sizeof head);
    tnb_buf_put(&b, u->ptx, u->n_ptx);
    tnb_buf_put(&b, u->cubin, u->n_cubin);
    if (!b.failed &&
        tnb_cache_put(tn_scratch(w->ctx), &w->cache, u->key, b.s, b.n, &err) != TNB_OK) {
        tn_warn(w->ctx, 0, "compiled kernels are not kept: %s", err.message);
        w->cache.dir = NULL;
    }
    tnb_buf_free(&b);
}

/* ---- compiling ---- */

static void
compile_next(work *w)
{
    for (uint32_t i; (i = atomic_fetch_add(&w->next, 1)) < w->n_missing;) {
        unit *u = &w->units[w->missing[i]];
        u->status = cuda_nvrtc_compile(w->nvrtc, w->arch, w->kernels[w->missing[i]].name, u->text,
                                       &u->made, &u->err);
    }
}

static void *
worker(void *user)
{
    compile_next(user);
    return NULL;
}

static void
compile_missing(work *w)
{
    pthread_t threads[MAX_JOBS];
    uint32_t wanted = w->b->jobs > 1 ? (uint32_t)w->b->jobs - 1 : 0, n = 0;
    wanted = wanted < MAX_JOBS ? wanted : MAX_JOBS;
    wanted = wanted < w->n_missing ? wanted : w->n_missing;
    while (n < wanted && pthread_create(&threads[n], NULL, worker, w) == 0)
        n++;
    compile_next(w);
    while (n)
        (void)pthread_join(threads[--n], NULL);
}

/* What the threads made, into the arena. */
static tnb_status
collect(work *w)
{
    tnb_status st = TNB_OK;
    for (uint32_t i = 0; i < w->n_missing; i++) {
        unit *u = &w->units[w->missing[i]];
        if (u->status != TNB_OK && st == TNB_OK) {
            st = u->status;
            tn_error(w->ctx, w->kernels[w->missing[i]].func->loc, st, "%s", u->err.message);
            if (u->err.hint[0])
                tnb_diag_hint(tn_diags(w->ctx), "%s", u->err.hint);
        }
        u->n_ptx = u->made.n_ptx;
        u->n_cubin = u->made.n_cubin;
        u->registers = u->made.registers;
        u->spilled = u->made.spilled;
        u->ptx = tnb_dup(tn_arena(w->ctx), u->made.ptx ? u->made.ptx : "", u->n_ptx);
        u->cubin = tnb_dup(tn_arena(w->ctx), u->made.cubin ? u->made.cubin : "", u->n_cubin);
        cuda_object_free(&u->made);
        if (st == TNB_OK)
            keep(w, u);
    }
    return st;
}

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tnb_status
compile_all(work *w)
{
    tnb_arena *a = tn_arena(w->ctx);
    tnb_err err = {0};
    if (tnb_cache_open(a, w->b->cache_dir, ".cuda", w->b->cache_bytes, &w->cache, &err) != TNB_OK)
        tn_warn(w->ctx, 0, "compiled kernels are not kept: %s", err.message);
    w->missing = TNB_NEW_N(a, uint32_t, w->n + 1);
    for (uint32_t i = 0; i < w->n; i++) {
        w->units[i].key = key_of(w, w->units[i].text);
        if (!from_cache(w, &w->units[i]))
            w->missing[w->n_missing++] = i;
    }
    w->b->cache_hits += w->n - w->n_missing;
    w->b->cache_misses += w->n_missing;
    double t = now();
    compile_missing(w);
    w->b->compiler_seconds += now() - t;
    return collect(w);
}

/* ---- the payload ---- */

/* The bytes that a kernel takes as a parameter. */
static uint32_t
param_bytes(const tnk_param *p)
{
    if (p->kind == TNB_PARAM_TAG)
        return 4;
    if (p->kind != TNB_PARAM_SCALAR)
        return 8;
    return tnb_dtype_is_float(p->dtype) && p->dtype.bits < 32 ? 4 : (p->dtype.bits + 7u) / 8u;
}

static uint64_t
place(tnb_buf *b, const void *bytes, size_t n)
{
    static const char zeros[CUDA_ALIGNMENT];
    tnb_buf_put(b, zeros, (CUDA_ALIGNMENT - b->n % CUDA_ALIGNMENT) % CUDA_ALIGNMENT);
    uint64_t at = b->n;
    tnb_buf_put(b, bytes, n);
    return at;
}

static tnb_status
write_payload(work *w, tnk_code *out)
{
    tn_ctx *ctx = w->ctx;
    tnb_buf b = {0};
    const tn_node *arch = tn_string(ctx, w->arch);
    cuda_payload head = {CUDA_MAGIC, CUDA_VERSION, w->n, 0, {0}};
    cuda_kernel *records = TNB_NEW_N(tn_scratch(ctx), cuda_kernel, w->n + 1);
    memcpy(head.arch, w->arch, strlen(w->arch));
    tnb_buf_put(&b, &head, sizeof head);
    tnb_buf_put(&b, records, w->n * sizeof *records);
    for (uint32_t i = 0; i < w->n; i++) {
        const tnk_kernel *k = &w->kernels[i];
        uint32_t *params = TNB_NEW_N(tn_scratch(ctx), uint32_t, k->n_params + 1);
        for (uint32_t j = 0; j < k->n_params; j++)
            params[j] = cuda_param_word(k->params[j].kind, k->params[j].written,
                                        param_bytes(&k->params[j]));
        records[i] = (cuda_kernel){
            .name = place(&b, k->name, strlen(k->name) + 1),
            .params = place(&b, params, k->n_params * sizeof *params),
            .ptx = place(&b, w->units[i].ptx, w->units[i].n_ptx),
            .cubin = place(&b, w->units[i].cubin, w->units[i].n_cubin),
            .n_ptx = w->units[i].n_ptx,
            .n_cubin = w->units[i].n_cubin,
            .n_name = (uint32_t)strlen(k->name) + 1,
            .n_params = k->n_params,
            .threads = (uint32_t)cuda_threads(k),
        };
    }
    if (!b.failed)
        memcpy(b.s + sizeof head, records, w->n * sizeof *records);
    *out = (tnk_code){.format = CUDA_FORMAT,
                      .bytes = b.failed ? NULL : tnb_dup(tn_arena(ctx), b.s, b.n),
                      .n_bytes = b.n,
                      .requires_ = tn_dictv(ctx, "features",
                                            tn_array_of(ctx, tn_list_of(ctx, &arch, 1)), NULL)};
    tnb_buf_free(&b);
    if (out->bytes && tn_ctx_check_memory(ctx))
        return TNB_OK;
    tn_error(ctx, 0, TNB_NO_MEMORY, "no memory for compiled kernels");
    return TNB_NO_MEMORY;
}

/* For `tenon show kernel --cost`. */
static const char *
report(const work *w, uint32_t i)
{
    const unit *u = &w->units[i];
    tnk_cost cost;
    const char *blocks = tnk_kernel_cost(w->ctx, w->b->target, &w->kernels[i], &cost)
                             ? cuda_blocks_at_once(w->ctx, w->arch, cost.block_threads,
                                                   u->registers, cost.shared_bytes)
                             : "";
    return tn_strf(w->ctx, "registers: %u of a thread\nspilled: %u bytes of a thread\n%s",
                   u->registers, u->spilled, blocks);
}

static tnb_status
build(void *self, tnk_build *b, tnk_kernel *kernels, uint32_t n, tnk_code *out)
{
    (void)self;
    tn_ctx *ctx = b->ctx;
    work w = {.b = b,
              .ctx = ctx,
              .kernels = kernels,
              .n = n,
              .arch = tn_dict_str(b->target->attrs, "arch", "")};
    tnb_err err = {0};
    w.units = TNB_NEW_N(tn_arena(ctx), unit, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        if (!emit(&w, i))
            return TNB_UNSUPPORTED;
        if (b->progress)
            b->progress(b->progress_user, i + 1, n);
    }
    tnb_status st =
        cuda_nvrtc_open(tn_arena(ctx), tn_dict_str(b->target->attrs, "nvrtc", ""), &w.nvrtc, &err);
    char arch[CUDA_ARCH_CHARS];
    if (st == TNB_OK)
        st = cuda_nvrtc_arch(w.nvrtc, w.arch, arch, &err);
    if (st == TNB_OK && strcmp(arch, w.arch) != 0) {
        tn_warn(ctx, 0,
                "target cuda: NVRTC %s does not know %s: kernels are compiled for %s, and by the "
                "driver when they are loaded",
                cuda_nvrtc_version(w.nvrtc), w.arch, arch);
        w.arch = arch;
    }
    if (st != TNB_OK) {
        tn_error(ctx, 0, st, "target cuda: %s", err.message);
        tnb_diag_hint(tn_diags(ctx), "%s", err.hint);
    } else {
        st = compile_all(&w);
    }
    for (uint32_t i = 0; st == TNB_OK && b->keep_source && i < n; i++)
        kernels[i].compiled = report(&w, i);
    if (st == TNB_OK)
        st = write_payload(&w, out);
    cuda_nvrtc_close(w.nvrtc);
    return st;
}

const tnk_codegen cuda_codegen = {
    .size = sizeof(tnk_codegen),
    .name = "cuda",
    .build = build,
};
