/* SPDX-License-Identifier: Apache-2.0 */
/* AttachMetadataWithMemoryUsage: a function that returns the model's metadata as JSON, with the memory that each function plans.
 *
 *     AttachMetadataWithMemoryUsage{metadata={"model_type": "llama"}}
 *  -> @R.function
 *     def _metadata():
 *         return R.str("{\"memory_usage\":{\"decode\":94208,...},\"model_type\":\"llama\"}")
 *
 * Counted are allocations of known size, of tensors and of storage: the pass comes behind StaticPlanBlockMemory. Without the option the
 * metadata is what a function `_metadata` of the module returns; without either nothing is attached. Keys are sorted, where upstream has
 * them in the order given. Cases: tests/pass/AttachMetadataWithMemoryUsage.
 */
#include "llm.h"

#include "tenon/core/op.h"
#include "tenon/core/walk.h"

static const char name_of_it[] = "_metadata";

/* Product of known extents; 0: not known, or beyond 64 bits. */
static int64_t
elements(const tn_expr *shape)
{
    const tn_shape_expr *s = tn_as_shape_expr(shape);
    int64_t n = 1, e;
    for (uint32_t i = 0; s && i < s->values.n; i++)
        if (!tn_int_value(s->values.at[i], &e) || e < 0 || __builtin_mul_overflow(n, e, &n))
            return 0;
    return s ? n : 0;
}

static tn_walk_step
count(void *user, const tn_node *n)
{
    int64_t *bytes = user, more = 0;
    tn_structural_id id = tn_structural_of(n);
    const tn_call *c = tn_as_call(n);
    if (id == TN_STRUCTURAL_memory_alloc_storage)
        more = elements(c->args.at[0]);
    else if (id == TN_STRUCTURAL_builtin_alloc_tensor && tn_as_dtype_imm(c->args.at[1]))
        more = elements(c->args.at[0]) *
               (int64_t)tnb_dtype_bytes(tn_as_dtype_imm(c->args.at[1])->value);
    if (__builtin_add_overflow(*bytes, more, bytes))
        *bytes = INT64_MAX;
    return TN_WALK_ON;
}

static const tn_node *
memory_usage(tn_ctx *ctx, const tn_module *m)
{
    const tn_node *usage = tn_dict_of(ctx, NULL, NULL, 0);
    for (uint32_t i = 0; i < m->names.n; i++) {
        int64_t bytes = 0;
        if (!tn_is(m->funcs.at[i], TN_KIND_FUNCTION) || !strcmp(tn_module_name(m, i), name_of_it))
            continue;
        tn_walk(m->funcs.at[i], 0, count, NULL, &bytes);
        usage = tn_dict_set(ctx, usage, tn_module_name(m, i), tn_i64(ctx, bytes));
    }
    return usage;
}

/* What the module's own function returns; NULL: it has none. The error node after an error. */
static const tn_node *
given_by_module(tn_ctx *ctx, const tn_module *m)
{
    const tn_function *f = tn_as_function(tn_module_get(m, name_of_it));
    const tn_seq_expr *s = f ? tn_as_seq_expr(f->body) : NULL;
    const tn_string_imm *text = tn_as_string_imm(s ? s->body : NULL);
    tnb_err err = {0};
    if (!f)
        return NULL;
    const tn_node *v =
        text ? tn_value_from_json(ctx, text->value, strlen(text->value), &err) : NULL;
    return tn_as_dict(v)
               ? v
               : tn_error(ctx, f->base.loc, TNB_FORMAT,
                          "AttachMetadataWithMemoryUsage: '%s' returns no JSON object", name_of_it);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    tn_ctx *ctx = pc->ctx;
    const tn_node *given = tn_dict_get(pc->options, "metadata");
    bool none = !given || tn_is(given, TN_KIND_NONE);
    if (none && !(given = given_by_module(ctx, m)))
        return m;
    if (tn_is_error(given))
        return NULL;
    if (!tn_as_dict(given)) {
        tn_error(ctx, 0, TNB_TYPE,
                 "AttachMetadataWithMemoryUsage: metadata is %s, expected a dictionary",
                 tn_text(ctx, given));
        return NULL;
    }
    tnb_buf text = {0};
    if (tn_value_to_json(tn_dict_set(ctx, given, "memory_usage", memory_usage(ctx, m)), &text) !=
        TNB_OK) {
        tnb_buf_free(&text);
        tn_error(ctx, 0, TNB_TYPE,
                 "AttachMetadataWithMemoryUsage: metadata has a value that JSON cannot say: %s",
                 tn_text(ctx, given));
        return NULL;
    }
    const tn_expr *body =
        tn_seq_expr_of(ctx, (tn_list){0}, tn_string(ctx, tn_strn(ctx, text.s, text.n)));
    tnb_buf_free(&text);
    const tn_node *attrs = tn_dictv(ctx, "global_symbol", tn_string(ctx, name_of_it), NULL);
    const tn_expr *f = tn_function_of(ctx, (tn_list){0}, body, NULL, true, attrs);
    return tn_is_error(f) ? NULL : tn_module_set(ctx, m, name_of_it, f);
}

static const tn_attr_schema options[] = {
    {"metadata", TN_ATTR_ANY, TN_ATTR_OPTIONAL, "None",
     "dictionary of what is known of the model; None: what the module's _metadata returns"},
    {0},
};

const tn_pass llm_attach_metadata_with_memory_usage = {
    .base.size = sizeof(tn_pass),
    .base.name = "AttachMetadataWithMemoryUsage",
    .base.doc = "add a function that returns metadata as JSON, with the memory that functions plan",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
