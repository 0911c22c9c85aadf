/* SPDX-License-Identifier: Apache-2.0 */
/* Constant data: bytes, ranges of files, splats, and programs not yet run. */
#include "private.h"
#include "tenon/core/eval.h"
#include <stdlib.h>
#include <sys/mman.h>

enum {
    MAPPED_FROM = 1 << 20 /* bytes that have pages of their own, which the system gives as zeros */
};

/* What a tn_data really is: `owned` holds bytes made here. */
typedef struct owned_data {
    tn_data pub;
    void *owned;
} owned_data;

static owned_data *
full(const tn_data *d)
{
    return (owned_data *)(uintptr_t)d;
}

/* Checks the shape and fills in what all kinds share. */
static owned_data *
describe(tn_ctx *ctx, tn_data_kind kind, tnb_dtype dtype, int32_t ndim, const int64_t *shape)
{
    uint64_t n, bytes;
    tnb_err err;
    if (tnb_dtype_is_void(dtype) ||
        tnb_shape_bytes(dtype, ndim, shape, &n, &bytes, &err) != TNB_OK) {
        tn_error(ctx, 0, TNB_SHAPE, "a constant of dtype %s and this shape cannot exist",
                 tnb_dtype_print(dtype).s);
        return NULL;
    }
    owned_data *d = TNB_NEW(ctx->perm, owned_data);
    d->pub.kind = kind;
    d->pub.ndim = ndim;
    d->pub.dtype = dtype;
    d->pub.shape =
        tnb_dup(ctx->perm, shape ? shape : (const int64_t[]){0}, (size_t)ndim * sizeof *shape);
    d->pub.n_elems = n;
    d->pub.n_bytes = bytes;
    const tn_data *pub = &d->pub;
    TNB_PUSH(ctx->perm, ctx->datas, pub);
    return d;
}

/* Memory for the elements, aligned to 64; all 0 where the system does that, or `zero` asks for it. */
static void *
get_memory(tn_ctx *ctx, owned_data *d, bool zero)
{
    size_t n = (size_t)((d->pub.n_bytes + 63) / 64 * 64);
    if (!tn_limit_take(ctx, TN_LIMIT_CONSTANTS, n, 0))
        return NULL;
    if (n >= MAPPED_FROM) {
        void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        d->owned = p == MAP_FAILED ? NULL : p;
    } else {
        d->owned = aligned_alloc(64, n ? n : 64);
        if (d->owned && zero)
            memset(d->owned, 0, n);
    }
    if (!d->owned) {
        tn_limit_give(ctx, TN_LIMIT_CONSTANTS, n);
        tn_error(ctx, 0, TNB_NO_MEMORY, "no memory for a constant of %llu bytes",
                 (unsigned long long)d->pub.n_bytes);
    }
    return d->owned;
}

static void
free_memory(tn_ctx *ctx, owned_data *d)
{
    size_t n = (size_t)((d->pub.n_bytes + 63) / 64 * 64);
    if (!d->owned)
        return;
    tn_limit_give(ctx, TN_LIMIT_CONSTANTS, n);
    if (n < MAPPED_FROM)
        free(d->owned);
    else
        munmap(d->owned, n);
    d->owned = NULL;
}

const tn_data *
tn_data_new(tn_ctx *ctx, tnb_dtype dtype, int32_t ndim, const int64_t *shape, void **bytes)
{
    owned_data *d = describe(ctx, TN_DATA_BYTES, dtype, ndim, shape);
    void *p = d ? get_memory(ctx, d, true) : NULL;
    if (!p)
        return NULL;
    d->pub.bytes = p;
    if (bytes)
        *bytes = p;
    return &d->pub;
}

const tn_data *
tn_data_splat(tn_ctx *ctx, tnb_dtype dtype, int32_t ndim, const int64_t *shape, const void *elem)
{
    size_t size = tnb_dtype_bytes(dtype);
    owned_data *d = describe(ctx, TN_DATA_SPLAT, dtype, ndim, shape);
    if (!d)
        return NULL;
    if (size > sizeof d->pub.splat || (dtype.bits % 8 && dtype.code != TNB_BOOL)) {
        tn_error(ctx, 0, TNB_UNSUPPORTED, "a splat constant cannot have dtype %s",
                 tnb_dtype_print(dtype).s);
        return NULL;
    }
    memcpy(d->pub.splat, elem, size);
    return &d->pub;
}

const tn_data *
tn_data_file(tn_ctx *ctx, tnb_dtype dtype, int32_t ndim, const int64_t *shape, const void *bytes,
             const char *file, uint64_t offset)
{
    owned_data *d = describe(ctx, TN_DATA_FILE, dtype, ndim, shape);
    if (!d)
        return NULL;
    d->pub.bytes = bytes;
    d->pub.file = tn_str(ctx, file);
    d->pub.offset = offset;
    return &d->pub;
}

const tn_data *
tn_data_deferred(tn_ctx *ctx, tnb_dtype dtype, int32_t ndim, const int64_t *shape,
                 const tn_node *program, const tn_data *const *inputs, uint32_t n_inputs,
                 uint32_t result)
{
    const tn_prim_func *f = tn_as_prim_func(program);
    if (!f || f->params.n <= n_inputs || result >= f->params.n - n_inputs) {
        tn_error(ctx, 0, TNB_INVALID,
                 "a deferred constant needs a tensor program with parameters for %u inputs and "
                 "result %u",
                 n_inputs, result);
        return NULL;
    }
    owned_data *d = describe(ctx, TN_DATA_DEFERRED, dtype, ndim, shape);
    if (!d)
        return NULL;
    d->pub.program = program;
    d->pub.inputs = tnb_dup(ctx->perm, inputs ? inputs : (const tn_data *const[]){NULL},
                            n_inputs * sizeof *inputs);
    d->pub.n_inputs = n_inputs;
    d->pub.result = result;
    return &d->pub;
}

static const void *
expand_splat(tn_ctx *ctx, owned_data *d)
{
    size_t size = tnb_dtype_bytes(d->pub.dtype), n = (size_t)d->pub.n_bytes;
    char *p = get_memory(ctx, d, false);
    if (!p || !n)
        return p;
    memcpy(p, d->pub.splat, size);
    for (size_t have = size; have < n; have *= 2)
        memcpy(p + have, p, have < n - have ? have : n - have);
    return p;
}

/* An output argument for the program's parameter: its buffer must have literal extents. */
static const tn_expr *
output_arg(tn_ctx *ctx, const tn_node *buffer)
{
    const tn_buffer *b = tn_as_buffer(buffer);
    int64_t shape[32];
    if (!b || b->shape.n > 32)
        return NULL;
    for (uint32_t i = 0; i < b->shape.n; i++)
        if (!tn_int_value(b->shape.at[i], &shape[i]))
            return NULL;
    const tn_data *d = tn_data_new(ctx, b->dtype, (int32_t)b->shape.n, shape, NULL);
    return d ? tn_constant_of(ctx, d) : NULL;
}

static const void *
run_program(tn_ctx *ctx, owned_data *d)
{
    const tn_prim_func *f = tn_as_prim_func(d->pub.program);
    tnb_err err = {0};
    const tn_evaluator *ev = tn_find_evaluator(ctx->reg, NULL, &err);
    if (!ev) {
        tn_error(ctx, 0, TNB_NOT_FOUND, "no evaluator for a deferred constant: %s", err.message);
        tnb_diag_hint(tn_diags(ctx), "%s", err.hint);
        return NULL;
    }
    const tn_expr **args = TNB_NEW_N(ctx->scratch, const tn_expr *, f->params.n);
    const tn_data *out = NULL;
    for (uint32_t i = 0; i < f->params.n; i++) {
        bool is_input = i < d->pub.n_inputs;
        args[i] = is_input ? tn_constant_of(ctx, d->pub.inputs[i])
                           : output_arg(ctx, i < f->buffers.n ? f->buffers.at[i] : NULL);
        if (!args[i]) {
            tn_error(ctx, 0, TNB_SHAPE,
                     "result %u of a deferred constant's program has no fixed shape",
                     i - d->pub.n_inputs);
            return NULL;
        }
        if (i == d->pub.n_inputs + d->pub.result)
            out = ((const tn_constant *)args[i])->data;
    }
    if (!out || out->n_bytes != d->pub.n_bytes) {
        tn_error(ctx, 0, TNB_SHAPE, "a deferred constant has %llu bytes, its program's result %llu",
                 (unsigned long long)d->pub.n_bytes, out ? (unsigned long long)out->n_bytes : 0ull);
        return NULL;
    }
    const tn_module *m = tn_module_set(ctx, tn_module_new(ctx), "main", d->pub.program);
    tn_eval_options opt = {0};
    if (!m || !TN_WITHIN(ctx, "evaluator", ev, NULL,
                         ev->run(ev->self, ctx, m, "main", args, f->params.n, &opt)))
        return NULL;
    d->owned = full(out)->owned; /* taken over */
    full(out)->owned = NULL;
    full(out)->pub.bytes = NULL;
    return d->owned;
}

const void *
tn_data_get(tn_ctx *ctx, const tn_data *data)
{
    owned_data *d = full(data);
    if (data->bytes)
        return data->bytes;
    switch (data->kind) {
    case TN_DATA_SPLAT:
        d->pub.bytes = expand_splat(ctx, d);
        break;
    case TN_DATA_DEFERRED:
        d->pub.bytes = run_program(ctx, d);
        break;
    default:
        tn_error(ctx, 0, TNB_INVALID, "the elements of a constant were released");
    }
    return d->pub.bytes;
}

void *
tn_data_fill(tn_ctx *ctx, const tn_data *data)
{
    owned_data *d = full(data);
    if (data->kind != TN_DATA_DEFERRED || d->owned) {
        tn_error(ctx, 0, TNB_INTERNAL, "only a deferred constant can be filled, and once");
        return NULL;
    }
    void *p = get_memory(ctx, d, false);
    d->pub.bytes = p;
    return p;
}

void
tn_data_release(tn_ctx *ctx, const tn_data *data)
{
    owned_data *d = full(data);
    if (!d->owned || (data->kind != TN_DATA_SPLAT && data->kind != TN_DATA_DEFERRED))
        return;
    free_memory(ctx, d);
    d->pub.bytes = NULL;
}

void
tn_data_free_all(tn_ctx *ctx)
{
    for (uint32_t i = 0; i < ctx->datas.n; i++)
        free_memory(ctx, full(ctx->datas.at[i]));
}

bool
tn_data_equal(tn_ctx *ctx, const tn_data *a, const tn_data *b)
{
    if (a == b)
        return true;
    if (!tnb_dtype_eq(a->dtype, b->dtype) || a->ndim != b->ndim || a->n_bytes != b->n_bytes)
        return false;
    if (a->ndim && memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) != 0)
        return false;
    if (a->n_elems == 0)
        return true;
    if (a->kind == TN_DATA_SPLAT && b->kind == TN_DATA_SPLAT)
        return memcmp(a->splat, b->splat, tnb_dtype_bytes(a->dtype)) == 0;
    const void *p = tn_data_get(ctx, a), *q = p ? tn_data_get(ctx, b) : NULL;
    return p && q && memcmp(p, q, (size_t)a->n_bytes) == 0;
}
