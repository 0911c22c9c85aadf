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

/* Whether the host knows the variable when it launches: a scalar parameter, an extent or a stride. */
static bool
is_given(const tn_prim_func *f, const tn_expr *var)
{
    for (uint32_t i = 0; i < f->params.n; i++)
        if (f->params.at[i] == var)
            return true;
    for (uint32_t i = 0; i < f->buffers.n; i++) {
        const tn_buffer *b = tn_as_buffer(f->buffers.at[i]);
        for (uint32_t d = 0; b && d < b->shape.n; d++)
            if (b->shape.at[d] == var)
                return true;
        for (uint32_t d = 0; b && d < b->strides.n; d++)
            if (b->strides.at[d] == var)
                return true;
    }
    return false;
}

static void
mark(tnk_kernel *k, const tn_expr *data)
{
    for (uint32_t i = 0; i < k->n_params; i++) {
        tnk_param *p = (tnk_param *)(uintptr_t)&k->params[i]; /* made here */
        if (p->buffer && tn_as_buffer(p->buffer)->data == data)
            p->written = tnb_param_is_memory(p->kind);
    }
}

static tn_walk_step
note_writes(void *user, const tn_node *n);

/* An asynchronous copy writes through the first of its addresses alone: what it is computed of, and the rest, are looked at. */
static bool
is_copy(tnk_kernel *k, const tn_node *n)
{
    enum { FROM_OF_BULK = 1, FROM = 3 };
    bool bulk = tn_is_intrin(n, TN_INTRIN_ptx_cp_async_bulk);
    if (!bulk && !tn_is_intrin(n, TN_INTRIN_ptx_cp_async))
        return false;
    const tn_call *copy = tn_as_call(n);
    for (uint32_t i = 0; i < copy->args.n; i++) {
        const tn_node *a = copy->args.at[i];
        const tn_buffer_load *l =
            i == (bulk ? FROM_OF_BULK : FROM) && tn_is_intrin(a, TN_INTRIN_address_of)
                ? tn_as_buffer_load(tn_as_call(a)->args.at[0])
                : NULL;
        for (uint32_t d = 0; l && d < l->indices.n; d++)
            tn_walk(l->indices.at[d], 0, note_writes, NULL, k);
        if (!l)
            tn_walk(a, 0, note_writes, NULL, k);
    }
    return true;
}

static tn_walk_step
note_writes(void *user, const tn_node *n)
{
    if (is_copy(user, n))
        return TN_WALK_SKIP;
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
            if (a && a->kind == TN_KIND_BUFFER_LOAD &&
                (tn_is_intrin(n, TN_INTRIN_address_of) || tn_is_intrin(n, TN_INTRIN_atomic_and) ||
                 tn_is_intrin(n, TN_INTRIN_atomic_or)))
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
        if (tnk_find_param(k, fv.at[i]))
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

/* What a kernel is described with. */
typedef struct description {
    tn_ctx *ctx;
    const tn_target *target;
    tnk_kernel *kernel;
    const tn_prim_func *original, *lowered;
    const tn_node *launch; /* TNK_LAUNCH_ATTR, or NULL */
    TNB_VEC(tnk_param) params;
    TNB_VEC(const tn_node *) vars, buffers; /* of the kernel's function */
} description;

static bool
refuse(const description *d, const char *what, const tn_expr *e)
{
    tn_error(d->ctx, TN_NODE(d->lowered)->loc, TNB_INVALID,
             "kernel '%s': %s, %s, is not known before the kernel runs", d->kernel->name, what,
             tn_text(d->ctx, e));
    tnb_diag_hint(tn_diags(d->ctx),
                  "the host knows the tensor program's scalars, and the extents and "
                  "strides of its buffers");
    return false;
}

static bool
is_host_value(const description *d, const char *what, const tn_expr *e)
{
    tn_list fv = tn_free_vars(d->ctx, e, true);
    for (uint32_t i = 0; i < fv.n; i++)
        if (!is_given(d->original, fv.at[i]))
            return refuse(d, what, e);
    return true;
}

static void
add_param(description *d, tnk_param p, const tn_expr *var)
{
    TNB_PUSH(tn_arena(d->ctx), d->params, p);
    if (!var)
        return;
    TNB_PUSH(tn_scratch(d->ctx), d->vars, var);
    TNB_PUSH(tn_scratch(d->ctx), d->buffers, tnb_param_is_memory(p.kind) ? p.buffer : NULL);
}

static void
describe_memory(description *d)
{
    const tn_prim_func *f = d->lowered;
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->params.n && i < f->buffers.n; i++) {
        const tn_buffer *b = tn_as_buffer(f->buffers.at[i]);
        if (!b)
            continue;
        bool image = b->scope && strncmp(b->scope, "global.texture", 14) == 0;
        add_param(d,
                  (tnk_param){.kind = image ? TNB_PARAM_IMAGE : TNB_PARAM_BUFFER,
                              .dtype = b->dtype,
                              .buffer = f->buffers.at[i],
                              .argument = n++},
                  f->params.at[i]);
    }
}

static bool
add_scalar(description *d, const tn_expr *var, const tn_expr *value)
{
    if (!tn_uses(d->lowered->body, var))
        return true;
    if (!is_host_value(d, tn_strf(d->ctx, "the scalar '%s'", tn_var_name(var)), value))
        return false;
    add_param(d,
              (tnk_param){
                  .kind = TNB_PARAM_SCALAR, .dtype = tn_dtype_of(var), .var = var, .value = value},
              var);
    return true;
}

/* Parameters of the lowered function, then those that a pass made of expressions of the host. */
static bool
describe_scalars(description *d)
{
    const tn_prim_func *f = d->lowered;
    const tn_array *values = tn_as_array(tn_dict_get(d->launch, "values"));
    for (uint32_t i = 0; i < f->params.n; i++) {
        bool memory = i < f->buffers.n && f->buffers.at[i], made = false;
        for (uint32_t k = 0; values && k < values->items.n; k++) {
            const tn_array *pair = tn_as_array(values->items.at[k]);
            made |= pair && pair->items.n == 2 && pair->items.at[0] == f->params.at[i];
        }
        if (!memory && !made && tn_dtype_of(f->params.at[i]).code != TNB_HANDLE &&
            !add_scalar(d, f->params.at[i], f->params.at[i]))
            return false;
    }
    for (uint32_t k = 0; values && k < values->items.n; k++) {
        const tn_array *pair = tn_as_array(values->items.at[k]);
        if (!pair || pair->items.n != 2) {
            tn_error(d->ctx, TN_NODE(f)->loc, TNB_INVALID,
                     "kernel '%s': attribute '" TNK_LAUNCH_ATTR
                     "': values are pairs of a variable and an expression",
                     d->kernel->name);
            return false;
        }
        if (!add_scalar(d, pair->items.at[0], pair->items.at[1]))
            return false;
    }
    return true;
}

static bool
bad_map(const description *d, uint32_t i, const char *why)
{
    tn_error(d->ctx, TN_NODE(d->lowered)->loc, TNB_INVALID,
             "kernel '%s': attribute '" TNK_LAUNCH_ATTR "': tensor map %u: %s", d->kernel->name, i,
             why);
    return false;
}

static bool
host_list(const description *d, const tn_node *of, const char *key, const char *what, tn_list *out)
{
    const tn_array *a = tn_as_array(tn_dict_get(of, key));
    if (a)
        *out = a->items;
    for (uint32_t i = 0; i < out->n; i++)
        if (!is_host_value(d, what, out->at[i]))
            return false;
    return true;
}

/* The strides of a compact tensor, of all axes but the last. */
static tn_list
compact_strides(tn_ctx *ctx, tn_list extents)
{
    const tn_expr **s = TNB_NEW_N(tn_arena(ctx), const tn_expr *, extents.n);
    for (uint32_t i = extents.n; i-- > 1;)
        s[i - 1] = i == extents.n - 1 ? extents.at[i] : tn_mul(ctx, s[i], extents.at[i]);
    return tn_list_of(ctx, s, extents.n ? extents.n - 1 : 0);
}

static const tn_buffer *
nth_buffer(const tn_prim_func *f, int64_t n)
{
    for (uint32_t i = 0; i < f->buffers.n; i++)
        if (f->buffers.at[i] && n-- == 0)
            return tn_as_buffer(f->buffers.at[i]);
    return NULL;
}

static bool
describe_map(description *d, uint32_t i, const tn_node *m)
{
    const tn_node *var = tn_dict_get(m, "var");
    int64_t argument = tn_dict_int(m, "argument", -1), swizzle = tn_dict_int(m, "swizzle", 0);
    const tn_buffer *b = nth_buffer(d->original, argument);
    const tn_string_imm *fill = tn_as_string_imm(tn_dict_get(m, "fill"));
    const tn_array *box = tn_as_array(tn_dict_get(m, "box"));
    if (!var || !b)
        return bad_map(d, i, "it needs 'var', a handle, and 'argument', the number of a buffer");
    if (!box || box->items.n != b->shape.n || b->shape.n < 1 || b->shape.n > TNB_MAP_RANK)
        return bad_map(d, i,
                       "its box needs an extent for each axis of the buffer, which has 1 to 5");
    if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
        return bad_map(d, i, "its swizzle is 0, 32, 64 or 128 bytes");
    if (fill && strcmp(fill->value, "zeros") != 0 && strcmp(fill->value, "nans") != 0)
        return bad_map(d, i, "its fill is zeros or nans");
    tnk_param p = {.kind = TNB_PARAM_TENSOR_MAP,
                   .buffer = TN_NODE(b),
                   .argument = (uint32_t)argument,
                   .var = var,
                   .map = {.dtype = b->dtype,
                           .rank = (uint8_t)b->shape.n,
                           .fill = fill && fill->value[0] == 'n' ? TNB_MAP_NANS : TNB_MAP_ZEROS,
                           .swizzle = (uint16_t)swizzle},
                   .extents = b->shape,
                   .strides = b->strides.n ? tn_list_of(d->ctx, b->strides.at, b->strides.n - 1)
                                           : compact_strides(d->ctx, b->shape)};
    for (uint32_t k = 0; k < box->items.n; k++) {
        int64_t n = 0;
        if (!tn_int_value(box->items.at[k], &n) || n < 1 || n > UINT32_MAX)
            return bad_map(d, i, "the extents of its box are positive numbers");
        p.map.box[k] = (uint32_t)n;
    }
    if (!host_list(d, m, "extents", "an extent of a tensor map", &p.extents) ||
        !host_list(d, m, "strides", "a stride of a tensor map", &p.strides))
        return false;
    if (p.extents.n != b->shape.n || p.strides.n + 1 != b->shape.n)
        return bad_map(d, i,
                       "it needs an extent for each axis, and a stride for each but the last");
    add_param(d, p, var);
    return true;
}

/* What the host checks before each launch. */
static bool
describe_checks(description *d)
{
    tn_ctx *ctx = d->ctx;
    const tn_array *all = tn_as_array(tn_dict_get(d->launch, "requires"));
    uint32_t n = all ? all->items.n : 0;
    const tn_stmt **checks = n ? TNB_NEW_N(tn_arena(ctx), const tn_stmt *, n) : NULL;
    for (uint32_t i = 0; i < n; i++) {
        const tn_array *one = tn_as_array(all->items.at[i]);
        for (uint32_t k = 0; one && k < one->items.n; k++)
            if (!tn_as_string_imm(one->items.at[k]) &&
                !is_host_value(d, "a number that is checked", one->items.at[k]))
                return false;
        if (!one || one->items.n < 2) {
            tn_error(ctx, TN_NODE(d->lowered)->loc, TNB_INVALID,
                     "kernel '%s': attribute '" TNK_LAUNCH_ATTR
                     "': what it requires are conditions and parts of a message",
                     d->kernel->name);
            return false;
        }
        tn_list parts = {one->items.at + 1, one->items.n - 1};
        checks[i] = tn_assert_of(ctx, one->items.at[0],
                                 tn_array_of(ctx, tn_listv(ctx, tn_string(ctx, "ValueError"),
                                                           tn_array_of(ctx, parts), NULL)));
    }
    d->kernel->checks = checks;
    d->kernel->n_checks = n;
    return true;
}

static tn_walk_step
add_dynamic_shared(void *user, const tn_node *n)
{
    if (n->kind == TN_KIND_ALLOC_BUFFER)
        *(int64_t *)user += tnk_dynamic_shared_bytes(tn_as_alloc_buffer(n)->buffer);
    return tn_is_scalar(n) ? TN_WALK_SKIP : TN_WALK_ON;
}

/* What the launch gives beyond what its attribute asks for: buffers of scope "shared.dyn", where the target's launches give any. */
static const tn_expr *
dynamic_shared(const description *d, const tn_expr *asked)
{
    int64_t own = 0;
    if (d->target && tn_dict_int(d->target->attrs, "max_dynamic_shared_memory_per_block", 0) > 0)
        tn_walk(d->lowered->body, 0, add_dynamic_shared, NULL, &own);
    if (!own)
        return asked;
    const tn_expr *n = tn_i64(d->ctx, own);
    return asked ? tn_add(d->ctx, tn_cast_to(d->ctx, TNB_I64, asked), n) : n;
}

static bool
describe_launch(description *d)
{
    tnk_kernel *k = d->kernel;
    const tn_array *maps = tn_as_array(tn_dict_get(d->launch, "tensor_maps"));
    tn_list cluster = {0};
    for (uint32_t i = 0; maps && i < maps->items.n; i++)
        if (!describe_map(d, i, maps->items.at[i]))
            return false;
    if (!host_list(d, d->launch, "cluster", "an extent of a cluster", &cluster))
        return false;
    for (uint32_t i = 0; i < cluster.n && i < 3; i++)
        k->cluster[i] = cluster.at[i];
    k->dyn_shared_bytes = dynamic_shared(d, tn_dict_get(d->launch, "shared_bytes"));
    k->cooperative = tn_dict_int(d->launch, "cooperative", 0) != 0;
    k->programmatic = tn_dict_int(d->launch, "programmatic", 0) != 0;
    return !k->dyn_shared_bytes ||
           is_host_value(d, "the size of shared memory", k->dyn_shared_bytes);
}

static tnk_kernel *
describe(tn_ctx *ctx, const tn_target *target, const char *name, const tn_prim_func *original,
         const tn_prim_func *f)
{
    tnk_kernel *k = TNB_NEW(tn_arena(ctx), tnk_kernel);
    description d = {.ctx = ctx,
                     .target = target,
                     .kernel = k,
                     .original = original,
                     .lowered = f,
                     .launch = tn_dict_get(f->attrs, TNK_LAUNCH_ATTR)};
    k->name = identifier(ctx, name);
    describe_memory(&d);
    if (!describe_scalars(&d) || !describe_launch(&d) || !describe_checks(&d))
        return NULL;
    k->params = d.params.at;
    k->n_params = d.params.n;
    tn_walk(f->body, 0, note_writes, NULL, k);
    const tn_node *attrs = describe_body(ctx, k, f);
    if (!attrs)
        return NULL;
    k->func = tn_prim_func_of(ctx, tn_list_of(ctx, d.vars.at, d.vars.n),
                              tn_list_of(ctx, d.buffers.at, d.buffers.n), f->body, f->ret, attrs);
    if (tn_is_error(k->func))
        return NULL;
    const char *const *checks;
    if (tnk_kernel_checks(ctx, k, &checks)) {
        add_param(&d, (tnk_param){.kind = TNB_PARAM_REFUSED}, NULL);
        add_param(&d, (tnk_param){.kind = TNB_PARAM_TAG, .dtype = TNB_DTYPE(TNB_UINT, 32)}, NULL);
        k->params = d.params.at;
        k->n_params = d.params.n;
    }
    return k;
}

tnk_kernel *
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
    return low ? describe(ctx, target, name, f, low) : NULL;
}
