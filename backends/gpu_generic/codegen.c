/* SPDX-License-Identifier: Apache-2.0 */
/* Code generation of the gpu_generic target: each kernel becomes a SPIR-V module, all of a variant one payload (payload.h). */
#include "gpu_generic.h"

#include <stddef.h>
#include "tenon/core/walk.h"
#include "tenon/kit/lower.h"

#include "disassembly.h"
#include "spirv_kernel.h"

/* ---- what it takes ---- */

typedef struct search {
    const gpu_generic_limits *limits;
    tn_ctx *ctx;
    const char *why;
} search;

static const char *
lacks(const search *s, tnb_dtype d)
{
    bool small = tnb_dtype_is_float(d) && d.bits < 16;
    if (d.code == TNB_FLOAT && d.bits == 64 && !(s->limits->has >> GPU_GENERIC_FLOAT64 & 1))
        return "the target has no float64 (attribute supports_float64)";
    if (small || d.code == TNB_COMPLEX || (tnb_dtype_is_int(d) && d.bits < 8))
        return tn_strf(s->ctx, "%s has no form in SPIR-V", tnb_dtype_print(d).s);
    return NULL;
}

static tn_walk_step
find_lacking(void *user, const tn_node *n)
{
    search *s = user;
    const tn_buffer *b = tn_as_buffer(n);
    tnb_dtype d = b ? b->dtype : tn_is_scalar(n) ? tn_dtype_of(n) : TNB_VOID;
    if (!tnb_dtype_is_void(d))
        s->why = lacks(s, d);
    /* GLSL.std.450 has them with up to 32 bits, LowerMath makes those, and some of float64 by their bits */
    const tn_op *op = tn_as_call(n) ? tn_call_op_of(tn_as_call(n)) : NULL;
    tn_intrin_id id = tn_intrin_of(n);
    if (!s->why && op && d.bits == 64 && tnb_dtype_is_float(d) && tnk_is_lowered_math(id, 32)) {
        if (!tnk_is_lowered_math(id, 64))
            s->why = tn_strf(s->ctx, "'%s' of float64 has no form in SPIR-V", op->base.name);
        else if (!(s->limits->has >> GPU_GENERIC_INT64 & 1))
            s->why = tn_strf(s->ctx, "'%s' of float64 needs int64 (attribute supports_int64)",
                             op->base.name);
    }
    return s->why ? TN_WALK_STOP : TN_WALK_ON;
}

static bool
takes(void *self, tn_ctx *ctx, const tn_target *target, const tn_node *prim_func, const char **why)
{
    (void)self;
    const tn_prim_func *f = tn_as_prim_func(prim_func);
    gpu_generic_limits limits = gpu_generic_limits_of(target->attrs);
    search s = {&limits, ctx, NULL};
    for (uint32_t i = 0; i < f->buffers.n && !s.why; i++)
        if (f->buffers.at[i])
            s.why = lacks(&s, tn_as_buffer(f->buffers.at[i])->dtype);
    if (!s.why)
        tn_walk(f->body, TN_WALK_ONCE, find_lacking, NULL, &s);
    *why = s.why;
    return !s.why;
}

/* ---- the payload ---- */

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
    tnb_diag_hint(tn_diags(ctx),
                  "add a rule to the list: [pipeline gpu_generic] in an INI file, rules of "
                  "a plugin; tenon show pipeline gpu_generic");
    return false;
}

/* Names of kinds that have lists of passes and no generator. */
static bool
has_generator(tn_ctx *ctx, const tn_target *t)
{
    bool other = t && (!strcmp(t->kind, "webgpu") || !strcmp(t->kind, "metal"));
    if (other) {
        tn_error(ctx, 0, TNB_UNSUPPORTED, "the target kind '%s' has no code generator", t->kind);
        tnb_diag_hint(tn_diags(ctx),
                      "its passes can be run by tenon opt; kernels are generated for "
                      "the kind vulkan (target gpu_generic)");
    }
    return !other;
}

typedef struct payload {
    tnb_arena *arena;
    spirv_words words;
    uint32_t used; /* features of all kernels */
    int64_t threads, shared;
} payload;

static void
put(payload *p, const void *words, uint32_t n)
{
    const uint32_t *w = words;
    for (uint32_t i = 0; i < n; i++)
        TNB_PUSH(p->arena, p->words, w[i]);
}

static void
put_kernel(payload *p, tn_ctx *ctx, const tnk_kernel *kernel, const spirv_kernel *k,
           const spirv_words *module)
{
    uint32_t name_words = (uint32_t)(strlen(kernel->name) / 4 + 1),
             name[GPU_GENERIC_MAX_NAME_WORDS] = {0};
    uint32_t turns[GPU_GENERIC_MAX_TURNS_WORDS];
    int64_t threads = 1;
    memcpy(name, kernel->name, strlen(kernel->name));
    gpu_generic_kernel record = {
        .flags = k->flags,
        .name_words = name_words,
        .n_params = kernel->n_params,
        .turns_words = gpu_generic_put_turns(ctx, kernel, turns),
        .module_words = module->n,
        .shared_bytes = k->shared_bytes,
        .block_bytes = k->block_bytes,
        .subgroup_size = k->subgroup_size,
    };
    for (int i = 0; i < 3; i++) {
        record.local_size[i] = k->local_size[i];
        threads *= k->local_size[i];
    }
    put(p, &record, sizeof record / sizeof(uint32_t));
    put(p, name, name_words);
    for (uint32_t i = 0; i < kernel->n_params; i++) {
        gpu_generic_param param = spirv_kernel_param(&kernel->params[i]);
        if (gpu_generic_is_memory(param) && !(k->flags & GPU_GENERIC_ADDRESSES))
            param.more = spirv_bindings(&kernel->params[i], k->flags & GPU_GENERIC_PARTS) - 1;
        uint32_t word = gpu_generic_param_word(param);
        put(p, &word, 1);
    }
    put(p, turns, record.turns_words);
    put(p, module->at, module->n);
    p->used |= k->used;
    p->threads = threads > p->threads ? threads : p->threads;
    p->shared = k->shared_bytes > p->shared ? k->shared_bytes : p->shared;
}

/* Of matrices also which, and for sub-groups of what size. */
static const char *
feature_text(tn_ctx *ctx, const gpu_generic_limits *l, gpu_generic_feature f)
{
    const char *name = gpu_generic_feature_name(f);
    return f != GPU_GENERIC_MATRIX
               ? name
               : tn_strf(ctx, "%s:%ux%ux%u:%u", name, l->unit[0], l->unit[1], l->unit[2], l->warp);
}

static const tn_node *
required(tn_ctx *ctx, const gpu_generic_limits *limits, const payload *p)
{
    TNB_VEC(const tn_node *) names = {0};
    tnb_arena *a = tn_arena(ctx);
    for (int i = 0; i < GPU_GENERIC_N_FEATURES; i++)
        if (p->used >> i & 1)
            TNB_PUSH(a, names, tn_string(ctx, feature_text(ctx, limits, (gpu_generic_feature)i)));
    if (p->threads > 1)
        TNB_PUSH(a, names, tn_string(ctx, tn_strf(ctx, "group_size>=%lld", (long long)p->threads)));
    if (p->shared)
        TNB_PUSH(a, names,
                 tn_string(ctx, tn_strf(ctx, "shared_memory>=%lld", (long long)p->shared)));
    return tn_dictv(ctx, "features", tn_array_of(ctx, tn_list_of(ctx, names.at, names.n)), NULL);
}

/* Words are little-endian whatever the host is. */
static void
to_little_endian(spirv_words *w)
{
    const union {
        uint32_t word;
        uint8_t bytes[4];
    } probe = {1};
    for (uint32_t i = 0; i < w->n && !probe.bytes[0]; i++)
        w->at[i] = __builtin_bswap32(w->at[i]);
}

/* Whether memory that is bound may be larger than one binding when it is known how large it is. */
static bool
may_be_large(const tnk_kernel *kernel, const spirv_kernel *k)
{
    for (uint32_t i = 0; i < kernel->n_params && !(k->flags & GPU_GENERIC_ADDRESSES); i++)
        if (spirv_bindings(&kernel->params[i], true) != spirv_bindings(&kernel->params[i], false))
            return true;
    return false;
}

static tnb_status
generate(tnk_build *b, tnk_kernel *kernels, uint32_t n, tnk_code *out)
{
    tn_ctx *ctx = b->ctx;
    gpu_generic_limits limits = gpu_generic_limits_of(b->target->attrs);
    payload p = {.arena = tn_arena(ctx)};
    const gpu_generic_payload head = {GPU_GENERIC_MAGIC, GPU_GENERIC_VERSION, n, 0};
    put(&p, &head, sizeof head / sizeof(uint32_t));
    for (uint32_t i = 0; i < n; i++) {
        spirv_kernel k;
        spirv_words module;
        if (!is_scheduled(ctx, &kernels[i]) ||
            !spirv_kernel_make(ctx, &limits, &kernels[i], false, &k, &module))
            return TNB_UNSUPPORTED;
        put_kernel(&p, ctx, &kernels[i], &k, &module);
        if (b->keep_source)
            kernels[i].source = gpu_generic_disassembly(ctx, module.at, module.n);
        if (may_be_large(&kernels[i], &k)) {
            if (!spirv_kernel_make(ctx, &limits, &kernels[i], true, &k, &module))
                return TNB_UNSUPPORTED;
            put_kernel(&p, ctx, &kernels[i], &k, &module);
            p.words.at[offsetof(gpu_generic_payload, n_kernels) / sizeof(uint32_t)]++;
        }
        if (b->progress)
            b->progress(b->progress_user, i + 1, n);
    }
    to_little_endian(&p.words);
    *out = (tnk_code){.format = GPU_GENERIC_FORMAT,
                      .bytes = p.words.at,
                      .n_bytes = p.words.n * sizeof(uint32_t),
                      .requires_ = required(ctx, &limits, &p)};
    return TNB_OK;
}

static tnb_status
build(void *self, tnk_build *b, tnk_kernel *kernels, uint32_t n, tnk_code *out)
{
    (void)self;
    for (uint32_t i = 0; i < n; i++)
        if (!is_scheduled(b->ctx, &kernels[i]))
            return TNB_UNSUPPORTED;
    return has_generator(b->ctx, b->target) ? generate(b, kernels, n, out) : TNB_UNSUPPORTED;
}

const tnk_codegen gpu_generic_codegen = {
    .size = sizeof(tnk_codegen),
    .name = "gpu_generic",
    .build = build,
    .takes = takes,
};
