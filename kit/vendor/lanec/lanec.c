/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The target lanec: the lists that GPUs share, the dialect, and an intrinsic that it spells. */
#include "lanec.h"

#include "tenon/core/build.h"
#include "tenon/kit/lists.h"

static const char *const library_dispatch[] = {NULL};
static const char *const legalize[] = {"@tensor_programs", "@gpu_schedule", NULL};
static const char *const finalize[] = {"@generic", "SplitHostDevice", NULL};
static const char *const lower[] = {"@gpu_lower", NULL};

/* Every kernel's source is whole: what stands in front of it, then the kernel. */
static tnb_status
build(void *self, tnk_build *b, tnk_kernel *kernels, uint32_t n, tnk_code *out)
{
    tnb_buf all = {0};
    (void)self;
    for (uint32_t i = 0; i < n; i++) {
        tnk_source *src = tnk_source_new(b->ctx, tnk_dialect_find(b->ctx, "lanec"));
        tnb_buf one = {0};
        if (!src || !tnk_source_add(src, &kernels[i]))
            return TNB_UNSUPPORTED;
        tnk_source_text(src, &one);
        if (b->keep_source)
            kernels[i].source = tnb_strdup(tn_arena(b->ctx), one.s ? one.s : "");
        tnb_buf_put(&all, one.s ? one.s : "", one.n);
        tnb_buf_free(&one);
    }
    *out = (tnk_code){.format = "lanec",
                      .bytes = tnb_dup(tn_arena(b->ctx), all.s ? all.s : "", all.n),
                      .n_bytes = all.n};
    tnb_buf_free(&all);
    return TNB_OK;
}

static const tnk_codegen codegen = {.size = sizeof(tnk_codegen), .name = "lanec", .build = build};

static const char *const kinds[] = {"lanec", NULL};
static const tn_attr_schema attrs[] = {
    {"max_threads_per_block", TN_ATTR_INT, 0, "64", "threads a block may have", "1..64"},
    {"max_num_threads", TN_ATTR_INT, 0, "64", "threads that schedules use at most", "1..64"},
    {"keys", TN_ATTR_STRS, 0, "[\"lanec\", \"gpu\"]", "what passes look at beside the kind",
     "~lanec|gpu"},
    TNK_ATTR_CHECK_INDICES,
    {0},
};

static const tn_target_kind lanec_kind = {
    .base.size = sizeof(tn_target_kind),
    .base.name = "lanec",
    .base.doc = "A device that nobody has made.",
    .kinds = kinds,
    .attrs = attrs,
    .library_dispatch = library_dispatch,
    .legalize = legalize,
    .finalize = finalize,
    .lower = lower,
    .codegen = &codegen,
    .device = "lanec",
};
static const tn_target_kind *const targets[] = {&lanec_kind};

/* Half of a float32. */
static const tn_type *
like_its_argument(tn_ctx *ctx, const tn_call *c)
{
    (void)ctx;
    return c->args.at[0]->type;
}

static double
eval(const double *args, int n)
{
    (void)n;
    return args[0] / 2;
}

static const tn_arg_schema x_arg[] = {{"x", NULL}, {0}};
static const char *const spellings[] = {"lanec", "halve", NULL};
static const tn_op halve = {
    .base.size = sizeof(tn_op),
    .base.name = "lanec.halve",
    .base.doc = "x / 2",
    .flags = TN_OP_SCALAR,
    .args = x_arg,
    .min_args = -1,
    .infer = like_its_argument,
    .spellings = spellings,
    .eval = eval,
};
static const tn_op *const ops[] = {&halve};
static const tnk_dialect *const dialects[] = {&lanec_dialect};

TN_PLUGIN(lanec, "0.1.0", "Apache-2.0 OR MIT-0", "a language of its own for kernels",
          .targets = targets, .n_targets = 1, .ops = ops, .n_ops = 1, .dialects = dialects,
          .n_dialects = 1);
