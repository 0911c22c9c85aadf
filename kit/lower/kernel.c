/* SPDX-License-Identifier: Apache-2.0 */
/* tnk_lower_kernel: runs a target's `lower` list over one PrimFunc and describes the result as a
 * kernel: buffers in order, which of them are written, and where each scalar comes from.
 */
#include "lower.h"

#include "tenon/base/hash.h"
#include "tenon/core/text.h"
#include "tenon/kit/codegen.h"
#include "tenon/kit/driver.h"
#include "tenon/kit/emit.h"

static bool
find_source(const tn_prim_func *f, const tn_expr *var, tnk_kernel_scalar_param *out)
{
    uint32_t scalar = 0, buffer = 0;
    for (uint32_t i = 0; i < f->params.n; i++) {
        if (f->params.at[i] == var) {
            *out = (tnk_kernel_scalar_param){var, tn_dtype_of(var), TNK_SCALAR_PARAM, scalar, 0};
            return true;
        }
        const tn_buffer *b = i < f->buffers.n ? tn_as_buffer(f->buffers.at[i]) : NULL;
        scalar += b ? 0 : 1;
    }
    for (uint32_t i = 0; i < f->buffers.n; i++) {
        const tn_buffer *b = tn_as_buffer(f->buffers.at[i]);
        if (!b)
            continue;
        for (uint32_t d = 0; d < b->shape.n; d++)
            if (b->shape.at[d] == var) {
                *out =
                    (tnk_kernel_scalar_param){var, tn_dtype_of(var), TNK_SCALAR_SHAPE, buffer, d};
                return true;
            }
        for (uint32_t d = 0; d < b->strides.n; d++)
            if (b->strides.at[d] == var) {
                *out =
                    (tnk_kernel_scalar_param){var, tn_dtype_of(var), TNK_SCALAR_STRIDE, buffer, d};
                return true;
            }
        buffer++;
    }
    return false;
}

typedef struct writes {
    const tn_node *const *buffers;
    uint8_t *written;
    uint32_t n;
} writes;

static void
mark(writes *w, const tn_expr *data)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (tn_as_buffer(w->buffers[i])->data == data)
            w->written[i] = 1;
}

static tn_walk_step
note_writes(void *user, const tn_node *n)
{
    if (n->kind == TN_KIND_BUFFER_STORE)
        mark(user, tn_as_buffer(((const tn_buffer_store *)n)->buffer)->data);
    if (tn_is_intrin(n, TN_INTRIN_prefetch))
        return TN_WALK_SKIP;
    /* a data pointer handed to a call may be written through, unless its mask says that it is read */
    const tn_call *call = n->kind == TN_KIND_CALL ? (const tn_call *)n : NULL;
    if (call && call->args.n == 5 && tn_is_intrin(n, TN_INTRIN_tvm_access_ptr) &&
        tn_is_int_const(call->args.at[4], 1))
        return TN_WALK_ON;
    if (call)
        for (uint32_t i = 0; i < ((const tn_call *)n)->args.n; i++) {
            const tn_node *a = ((const tn_call *)n)->args.at[i];
            mark(user, a);
            if (a && a->kind == TN_KIND_BUFFER_LOAD && tn_is_intrin(n, TN_INTRIN_address_of))
                mark(user, tn_as_buffer(((const tn_buffer_load *)a)->buffer)->data);
        }
    return TN_WALK_ON;
}

/* Grid and block: the extents of the loops bound to threads. */
static bool
note_threads(tn_ctx *ctx, tnk_kernel *k, const tn_for_loop *f)
{
    int dim = 0;
    bool block = false;
    if (!tnk_thread_tag(f->thread_tag, &block, &dim)) {
        tn_error(ctx, f->base.loc, TNB_UNSUPPORTED, "kernel '%s': a loop is bound to '%s'", k->name,
                 f->thread_tag);
        tnb_diag_hint(tn_diags(ctx), "threads are blockIdx.x to .z and threadIdx.x to .z");
        return false;
    }
    const tn_expr **extent = block ? &k->grid[dim] : &k->block[dim];
    if (*extent && !tn_prove_equal(ctx, *extent, f->extent)) {
        tn_error(ctx, f->base.loc, TNB_INVALID,
                 "kernel '%s': loops bound to %s have different extents: %s and %s", k->name,
                 f->thread_tag, tn_text(ctx, *extent), tn_text(ctx, f->extent));
        return false;
    }
    if (!*extent)
        *extent = f->extent;
    tn_list fv = tn_free_vars(ctx, f->extent, true);
    for (uint32_t i = 0; i < fv.n; i++) {
        bool scalar = false;
        for (uint32_t s = 0; s < k->n_scalars; s++)
            scalar |= k->scalars[s].var == fv.at[i];
        if (scalar)
            continue;
        tn_error(ctx, f->base.loc, TNB_INVALID,
                 "kernel '%s': the extent of %s, %s, is not known before the kernel runs", k->name,
                 f->thread_tag, tn_text(ctx, f->extent));
        return false;
    }
    return true;
}

typedef struct kernel_walk {
    tn_ctx *ctx;
    tnk_kernel *kernel; /* NULL: checks alone are of interest */
    bool ok;
    TNB_VEC(const char *) checks;
} kernel_walk;

static void
note_check(kernel_walk *w, const tn_call *c)
{
    const tn_string_imm *s = tn_as_string_imm(c->args.at[3]);
    bool known = !s;
    for (uint32_t i = 0; i < w->checks.n && !known; i++)
        known = !strcmp(w->checks.at[i], s->value);
    if (!known)
        TNB_PUSH(tn_scratch(w->ctx), w->checks, s->value);
}

static tn_walk_step
note_kernel(void *user, const tn_node *n)
{
    kernel_walk *w = user;
    const tn_for_loop *f = w->kernel ? tn_as_for_loop(n) : NULL;
    if (f && f->for_kind == TN_FOR_THREAD_BINDING && !note_threads(w->ctx, w->kernel, f))
        w->ok = false;
    if (n->kind == TN_KIND_CALL && tn_is_intrin(n, TN_INTRIN_index_in))
        note_check(w, (const tn_call *)n);
    return w->ok ? TN_WALK_ON : TN_WALK_STOP;
}

/* Attribute of lowered functions: the texts of their checks, so that these are searched for once. */
#define CHECKS_ATTR "tenon.index_checks"

uint32_t
tnk_kernel_checks(tn_ctx *ctx, const tnk_kernel *k, const char *const **texts)
{
    const tn_prim_func *f = tn_as_prim_func(k->func);
    const tn_array *known = tn_as_array(tn_dict_get(f->attrs, CHECKS_ATTR));
    kernel_walk w = {.ctx = ctx, .ok = true};
    for (uint32_t i = 0; known && i < known->items.n; i++)
        TNB_PUSH(tn_scratch(ctx), w.checks, tn_as_string_imm(known->items.at[i])->value);
    if (!known)
        tn_walk(f->body, 0, note_kernel, NULL, &w);
    *texts = w.checks.at;
    return w.checks.n;
}

/* The function's attributes with what its body says of checks, after the kernel got what it says of threads; NULL: it has no
 * kernel. */
static const tn_node *
describe_body(tn_ctx *ctx, tnk_kernel *k, const tn_prim_func *f)
{
    kernel_walk w = {ctx, k, true, {0}};
    tn_walk(f->body, 0, note_kernel, NULL, &w);
    TNB_VEC(const tn_node *) texts = {0};
    for (uint32_t i = 0; i < w.checks.n; i++)
        TNB_PUSH(tn_scratch(ctx), texts, tn_string(ctx, w.checks.at[i]));
    return w.ok ? tn_dict_set(ctx, f->attrs, CHECKS_ATTR,
                              tn_array_of(ctx, tn_list_of(ctx, texts.at, texts.n)))
                : NULL;
}

/* NVIDIA's OpenCL driver (580.159) writes out of bounds when it lists kernels whose names have more than 127 characters. */
enum { MAX_NAME = 100, KEPT_OF_NAME = 80 };

/* The name as a C identifier; of a long one the beginning, and a hash of the whole. */
static const char *
identifier(tn_ctx *ctx, const char *name)
{
    size_t n = strlen(name);
    char *s = n <= MAX_NAME ? tnb_strdup(tn_arena(ctx), name)
                            : tnb_printf(tn_arena(ctx), "%.*s_%016llx", KEPT_OF_NAME, name,
                                         (unsigned long long)tnb_hash64(name, n, 0));
    for (char *c = s; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
              *c == '_'))
            *c = '_';
    return !*s || (*s >= '0' && *s <= '9') || tnk_is_reserved_name(s)
               ? tnb_printf(tn_arena(ctx), "k_%s", s)
               : s;
}

static const tnk_kernel *
describe(tn_ctx *ctx, const char *name, const tn_prim_func *original, const tn_prim_func *f)
{
    tnb_arena *a = tn_arena(ctx);
    tnk_kernel *k = TNB_NEW(a, tnk_kernel);
    k->name = identifier(ctx, name);
    const tn_node **buffers = TNB_NEW_N(a, const tn_node *, f->params.n + 1);
    uint8_t *written = TNB_NEW_N(a, uint8_t, f->params.n + 1);
    tnk_kernel_scalar_param *scalars = TNB_NEW_N(a, tnk_kernel_scalar_param, f->params.n + 1);
    TNB_VEC(const tn_node *) params = {0}, maps = {0};
    for (uint32_t i = 0; i < f->params.n; i++)
        if (i < f->buffers.n && f->buffers.at[i]) {
            buffers[k->n_buffers++] = f->buffers.at[i];
            TNB_PUSH(tn_scratch(ctx), params, f->params.at[i]);
            TNB_PUSH(tn_scratch(ctx), maps, f->buffers.at[i]);
        }
    for (uint32_t i = 0; i < f->params.n; i++) {
        if (i < f->buffers.n && f->buffers.at[i])
            continue;
        const tn_expr *v = f->params.at[i];
        if (!tn_uses(f->body, v))
            continue;
        if (!find_source(original, v, &scalars[k->n_scalars])) {
            tn_error(ctx, TN_NODE(f)->loc, TNB_INTERNAL,
                     "kernel '%s': the scalar '%s' of the lowered function has no source", name,
                     tn_var_name(v));
            return NULL;
        }
        k->n_scalars++;
        TNB_PUSH(tn_scratch(ctx), params, v);
        TNB_PUSH(tn_scratch(ctx), maps, NULL);
    }
    k->buffers = buffers;
    k->written = written;
    k->scalars = scalars;
    writes w = {buffers, written, k->n_buffers};
    tn_walk(f->body, 0, note_writes, NULL, &w);
    const tn_node *attrs = describe_body(ctx, k, f);
    if (!attrs)
        return NULL;
    k->func = tn_prim_func_of(ctx, tn_list_of(ctx, params.at, params.n),
                              tn_list_of(ctx, maps.at, maps.n), f->body, f->ret, attrs);
    return tn_is_error(k->func) ? NULL : k;
}

const tnk_kernel *
tnk_lower_kernel(tn_ctx *ctx, const tn_target *target, const tn_target_kind *kind, const char *name,
                 const tn_node *prim_func)
{
    const tn_prim_func *f = tn_as_prim_func(prim_func);
    if (!f) {
        tn_error(ctx, 0, TNB_INVALID, "'%s' is no tensor program and cannot become a kernel", name);
        return NULL;
    }
    if (!kind->lower) {
        tn_error(ctx, 0, TNB_INVALID, "target '%s' has no list of lowering passes",
                 kind->base.name);
        return NULL;
    }
    tn_pass_list list = {0};
    TNB_VEC(tn_pass_item) items = {0};
    for (uint32_t i = 0; kind->lower[i]; i++) {
        tn_pass_list part;
        if (!tn_pass_list_parse(ctx, kind->lower[i], kind->base.name, &part))
            return NULL;
        for (uint32_t p = 0; p < part.n; p++)
            TNB_PUSH(tn_arena(ctx), items, part.at[p]);
    }
    list = (tn_pass_list){items.at, items.n};
    if (!tnk_pass_list_expand(ctx, NULL, &list))
        return NULL;
    const tn_module *m = tn_module_set(ctx, tn_module_new(ctx), name, prim_func);
    tn_pass_run run = {.target = target, .no_verify = true};
    m = m ? tn_run_passes(ctx, m, &list, &run) : NULL;
    const tn_prim_func *low = m ? tn_as_prim_func(tn_module_get(m, name)) : NULL;
    return low ? describe(ctx, name, f, low) : NULL;
}
