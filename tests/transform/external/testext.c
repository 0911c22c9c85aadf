/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin with patterns and an external code generator, as a vendor library's would be: it takes
 * matmul with what follows, and "compiles" by noting the composites' names. */
#include "tenon/core/registry.h"
#include "tenon/core/walk.h"
#include "tenon/kit/codegen.h"
#include "tenon/kit/pattern.h"

/* The right operand has to be a matrix, and no inner value may be needed elsewhere. */
static bool
is_plain_matmul(tn_ctx *ctx, const tnk_match *m, void *self)
{
    (void)ctx;
    (void)self;
    const tn_expr *w = tnk_match_get(m, "w");
    return w && tn_type_ndim(w->type) == 2 && !tnk_match_leaks(m);
}

/* What the generator wants to know about a match. */
static const tn_node *
workspace(tn_ctx *ctx, const tnk_match *m, void *self)
{
    (void)m;
    (void)self;
    return tn_dictv(ctx, "WorkspaceSize", tn_i64(ctx, 1024), NULL);
}

static const tnk_fusion_pattern matmul = {
    .base.size = sizeof(tnk_fusion_pattern),
    .priority = 0,
    .base.name = "testext.matmul",
    .base.doc = "a matrix product",
    .pattern = "matmul(x, w)",
    .check = is_plain_matmul,
};

/* Built in C: matmul, then relu of the sum with a vector. */
static const tnk_pat *
build_matmul_bias_relu(tn_ctx *ctx, void *self)
{
    (void)self;
    const tnk_pat *mm[2] = {tnk_pat_called(ctx, tnk_pat_any(ctx), "x"),
                            tnk_pat_called(ctx, tnk_pat_any(ctx), "w")};
    const tnk_pat *sum[2] = {tnk_pat_op(ctx, "matmul", mm, 2, false),
                             tnk_pat_ndim(tnk_pat_any(ctx), 1)};
    const tnk_pat *add = tnk_pat_op(ctx, "add", sum, 2, false);
    return tnk_pat_op(ctx, "nn.relu", &add, 1, false);
}

static const tnk_fusion_pattern matmul_bias_relu = {
    .base.size = sizeof(tnk_fusion_pattern),
    .priority = 10,
    .base.name = "testext.matmul_bias_relu",
    .base.doc = "a matrix product with bias and activation",
    .build = build_matmul_bias_relu,
    .check = is_plain_matmul,
    .attrs = workspace,
};

/* Takes float32 only; says so of float64. */
static tnb_status
compile(void *self, tn_ctx *ctx, const char *symbol, const tn_function *func,
        const tn_target *target, const tn_node *options, const tn_node **payload)
{
    (void)self;
    (void)symbol;
    (void)target;
    for (uint32_t i = 0; i < func->params.n; i++)
        if (!tnb_dtype_eq(tn_type_dtype(func->params.at[i]->type), TNB_F32))
            return tnb_dtype_eq(tn_type_dtype(func->params.at[i]->type), TNB_F64)
                       ? (tn_error(ctx, 0, TNB_UNSUPPORTED, "testext has no float64"),
                          TNB_UNSUPPORTED)
                       : TNB_UNSUPPORTED;
    *payload = tn_dictv(ctx, "params", tn_i64(ctx, func->params.n), "level",
                        tn_i64(ctx, tn_dict_int(options, "level", 0)), NULL);
    return TNB_OK;
}

static const tnk_external external = {
    .base.size = sizeof(tnk_external),
    .base.name = "testext",
    .base.doc = "for tests",
    .compile = compile,
};

/* A target that takes no float64. */
static tn_walk_step
look(void *user, const tn_node *n)
{
    const tn_buffer *b = tn_as_buffer(n);
    bool *found = user;
    *found |= b && tnb_dtype_eq(b->dtype, TNB_F64);
    return *found ? TN_WALK_STOP : TN_WALK_ON;
}

static bool
takes(void *self, tn_ctx *ctx, const tn_target *target, const tn_node *prim_func, const char **why)
{
    const tn_prim_func *f = tn_as_prim_func(prim_func);
    bool found = false;
    (void)self, (void)ctx, (void)target;
    for (uint32_t i = 0; i < f->buffers.n && !found; i++)
        if (f->buffers.at[i])
            look(&found, f->buffers.at[i]);
    if (!found)
        tn_walk(f->body, TN_WALK_ONCE, look, NULL, &found);
    *why = "it computes with float64";
    return !found;
}

static tnb_status
build(void *self, tnk_build *b, tnk_kernel *kernels, uint32_t n, tnk_code *out)
{
    (void)self, (void)kernels, (void)n, (void)out;
    tn_error(b->ctx, 0, TNB_UNSUPPORTED, "the target 'testext' only says which kernels it takes");
    return TNB_UNSUPPORTED;
}

static const tnk_codegen codegen = {.size = sizeof codegen,
                                    .name = "testext",
                                    .build = build,
                                    .takes = takes};
static const char *const kinds[] = {"testext", NULL};
static const char *const none[] = {NULL};
static const tn_target_kind target = {
    .base.size = sizeof target,
    .base.name = "testext",
    .base.doc = "for tests",
    .kinds = kinds,
    .library_dispatch = none,
    .legalize = none,
    .finalize = none,
    .lower = none,
    .codegen = &codegen,
};

static const tn_target_kind *const targets[] = {&target};
static const tnk_fusion_pattern *const patterns[] = {&matmul, &matmul_bias_relu};
static const tnk_external *const externals[] = {&external};

TN_PLUGIN(testext, "0.1.0", "Apache-2.0", "an external code generator for tests",
          .patterns = patterns, .n_patterns = 2, .externals = externals, .n_externals = 1,
          .targets = targets, .n_targets = 1);
