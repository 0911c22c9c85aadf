/* SPDX-License-Identifier: Apache-2.0 */
/* The module of a model: entry points with the names and arguments of MLC-LLM's.
 *
 *     embed(input_ids, packed_params)
 *     prefill(input_embeds, paged_kv_cache, packed_params), decode
 *     batch_prefill(input_embeds, logit_positions, paged_kv_cache, packed_params), batch_decode
 *     create_paged_kv_cache(max_batch_size, max_total_seq_len, prefill_chunk_size, page_size, support_sliding_window)
 */
#include "checkpoint.h"

#include "tenon/core/registry.h"
#include "tenon/kit/te.h"

typedef enum entry { EMBED, PREFILL, DECODE, BATCH_PREFILL, BATCH_DECODE, N_ENTRIES } entry;

static const struct {
    const char *name;
    int inputs;         /* parameters before packed_params */
    bool batch, length; /* symbolic; else 1 */
} entries[N_ENTRIES] = {
    [EMBED] = {"embed", 1, false, true},
    [PREFILL] = {"prefill", 2, false, true},
    [DECODE] = {"decode", 2, false, false},
    [BATCH_PREFILL] = {"batch_prefill", 3, false, true},
    [BATCH_DECODE] = {"batch_decode", 2, true, false},
};

/* x[:, length - 1:, :] */
static const tn_expr *
last_row(checkpoint_function *f, const tn_expr *x)
{
    tn_ctx *ctx = f->ctx;
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *in = tnk_te_input(te, "x", x->type);
    const tn_expr *dims[] = {tn_i64(ctx, 1), tn_i64(ctx, 1), tn_i64(ctx, f->m->hidden)};
    const tn_expr *last = tn_subi(ctx, tnk_te_expr(te, f->length), 1);
    tnk_stage *s = tnk_te_stage(te, "last", dims, 3, TNB_F32);
    const tn_node *out = tnk_te_define(s, tnk_te_read(te, in, s->axes[0], last, s->axes[2], NULL));
    return tn_emit(f->b, tnk_te_call(te, f->b, "last_row", &x, 1, &out, 1), "last");
}

static const tn_expr *
rows_at(checkpoint_function *f, const tn_expr *x, const tn_expr *positions)
{
    const tn_node *attrs = tn_dictv(f->ctx, "axis", tn_i64(f->ctx, 1), NULL);
    return tn_emit(f->b, tn_call_opv(f->ctx, "take", attrs, x, positions, NULL), "rows");
}

static const tn_type *
tensor(tn_ctx *ctx, tnb_dtype d, tn_list dims)
{
    return tn_ty_tensor_dims(ctx, dims, d);
}

static bool
add_entry(checkpoint_model *m, tn_builder *b, entry which)
{
    tn_ctx *ctx = m->ctx;
    const tn_expr *one = tn_i64(ctx, 1), *hidden = tn_i64(ctx, m->hidden);
    const tn_expr *length = entries[which].length ? tn_var_dtype(ctx, "seq_len", TNB_I64) : one,
                  *batch = tn_var_dtype(ctx, "batch_size", TNB_I64);
    checkpoint_function f = {
        .m = m,
        .ctx = ctx,
        .b = b,
        .batch = entries[which].batch ? batch : one,
        .length = length,
        .packed = tn_var_new(ctx, "packed_params", m->packed),
        .cache = tn_var_new(ctx, "paged_kv_cache", tn_ty_any(ctx)),
        .weights = TNB_NEW_N(tn_arena(ctx), const tn_expr *, m->params.n),
    };
    const tn_expr *x =
        which == EMBED
            ? tn_var_new(ctx, "input_ids", tensor(ctx, TNB_I32, tn_listv(ctx, length, NULL)))
            : tn_var_new(ctx, "input_embeds",
                         tensor(ctx, TNB_F32, tn_listv(ctx, f.batch, length, hidden, NULL)));
    const tn_expr *positions =
        tn_var_new(ctx, "logit_positions", tensor(ctx, TNB_I32, tn_listv(ctx, batch, NULL)));
    tn_list params = tn_listv(ctx, x, NULL);
    if (which == BATCH_PREFILL)
        params = tn_list_append(ctx, params, positions);
    if (which != EMBED)
        params = tn_list_append(ctx, params, f.cache);
    params = tn_list_append(ctx, params, f.packed);
    tn_builder_begin_function(b, params);
    tn_builder_begin_block(b, true);
    if (which == EMBED) {
        x = checkpoint_embed(&f, x);
    } else {
        x = checkpoint_layers(&f, x);
        if (which == PREFILL)
            x = last_row(&f, x);
        else if (which == BATCH_PREFILL)
            x = rows_at(&f, x, positions);
        x = checkpoint_logits(&f, x);
        x = tn_tuple_of(ctx, tn_listv(ctx, x, f.cache, NULL));
    }
    const tn_expr *result = tn_emit_output(b, x, "gv");
    tn_builder_end_block(b);
    const tn_expr *func =
        tn_builder_end_function(b, result, NULL, true,
                                tn_dictv(ctx, "num_input", tn_i64(ctx, entries[which].inputs),
                                         "global_symbol", tn_string(ctx, entries[which].name),
                                         NULL));
    if (tn_is_error(func))
        return false;
    tn_builder_add_function(b, func, entries[which].name);
    return true;
}

/* ---- the cache ---- */

static const char *const cache_params[] = {"max_batch_size", "max_total_seq_len",
                                           "prefill_chunk_size", "page_size",
                                           "support_sliding_window"};
enum { CACHE_PARAMS = sizeof cache_params / sizeof *cache_params };

/* "mha", "mha_sliding", or a tuple of these by layer. */
static const tn_expr *
kinds_of_layers(checkpoint_model *m)
{
    tn_ctx *ctx = m->ctx;
    if (!m->full)
        return tn_string(ctx, m->window ? "mha_sliding" : "mha");
    const tn_expr **kinds = TNB_NEW_N(tn_arena(ctx), const tn_expr *, m->layers);
    for (int64_t i = 0; i < m->layers; i++)
        kinds[i] = tn_string(ctx, checkpoint_is_sliding(m, i) ? "mha_sliding" : "mha");
    return tn_tuple_of(ctx, tn_list_of(ctx, kinds, (uint32_t)m->layers));
}

/* What MLC-LLM's pass DispatchKVCacheCreation turns into a target's own call. */
static tn_list
cache_arguments(checkpoint_model *m, tn_list sizes)
{
    tn_ctx *ctx = m->ctx;
    const bool rope = !(m->flags & CHECKPOINT_POSITIONS);
    const tn_expr *zero = tn_i64(ctx, 0), *dim = tn_i64(ctx, m->head_dim);
    const tn_node *layers[] = {zero, tn_i64(ctx, m->layers)};
    void *bytes;
    const tn_data *factors =
        m->rope_factors ? tn_data_new(ctx, TNB_F32, 1, &m->rotary_dim, &bytes) : NULL;
    if (factors)
        memcpy(bytes, m->rope_factors, factors->n_bytes);
    const tn_expr *args[] = {
        tn_extern_func_of(ctx, "mlc.create_paged_kv_cache_generic"),
        kinds_of_layers(m),
        tn_shape_expr_of(ctx,
                         m->window ? tn_list_append(ctx, sizes, tn_i64(ctx, m->window)) : sizes),
        tn_shape_expr_of(ctx, tn_list_of(ctx, layers, 2)),
        tn_i64(ctx, m->layers),
        tn_i64(ctx, m->heads),
        tn_i64(ctx, m->kv_heads),
        dim,
        dim,
        zero,
        zero,
        tn_i64(ctx, rope ? 1 : 0),
        tn_float_imm_of(ctx, TNB_F32, m->rope_scale),
        tn_float_imm_of(ctx, TNB_F32, m->rope_theta),
        tn_string(ctx, m->rope_scaling ? m->rope_scaling : "{}"),
        factors ? tn_constant_of(ctx, factors) : zero,
        tn_i64(ctx, m->rotary_dim),
        zero,
        tn_dtype_imm_of(ctx, TNB_F32),
        tn_float_imm_of(ctx, TNB_F32, m->score_cap),
    };
    return tn_list_of(ctx, args, sizeof args / sizeof *args - !(m->score_cap > 0));
}

static bool
add_cache(checkpoint_model *m, tn_builder *b)
{
    tn_ctx *ctx = m->ctx;
    const tn_type *any = tn_ty_any(ctx);
    tn_list params = {0}, sizes = {0};
    for (int i = 0; i < CACHE_PARAMS; i++) {
        const tn_expr *n = tn_var_dtype(ctx, cache_params[i], TNB_I64);
        const tn_type *type = tn_ty_shape_of(ctx, tn_listv(ctx, n, NULL));
        sizes = tn_list_append(ctx, sizes, n);
        params = tn_list_append(ctx, params,
                                tn_var_new(ctx, tn_strf(ctx, "%s_", cache_params[i]), type));
    }
    tn_builder_begin_function(b, params);
    tn_builder_begin_block(b, true);
    const tn_op *op = tn_find_op(tn_ctx_registry(ctx), "relax.call_pure_packed", NULL);
    const tn_expr *cache =
        tn_emit_output(b,
                       tn_call_of(ctx, tn_op_ref_of(ctx, op), cache_arguments(m, sizes), NULL,
                                  (tn_list){&any, 1}, NULL),
                       "paged_kv_cache");
    tn_builder_end_block(b);
    const tn_expr *func =
        tn_builder_end_function(b, cache, any, true,
                                tn_dictv(ctx, "global_symbol",
                                         tn_string(ctx, "create_paged_kv_cache"), NULL));
    if (tn_is_error(func))
        return false;
    tn_builder_add_function(b, func, "create_paged_kv_cache");
    return true;
}

const tn_module *
checkpoint_build(checkpoint_model *m)
{
    tn_builder *b = tn_builder_new(m->ctx, NULL);
    for (int i = 0; i < N_ENTRIES; i++)
        if (!add_entry(m, b, (entry)i))
            return NULL;
    if (!add_cache(m, b))
        return NULL;
    return tn_module_with_attrs(m->ctx, tn_builder_module(b), checkpoint_attributes(m));
}
