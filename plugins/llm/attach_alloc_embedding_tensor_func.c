/* SPDX-License-Identifier: Apache-2.0 */
/* AttachAllocEmbeddingTensorFunc: a function that allocates what holds a prompt's embeddings.
 *
 *     @R.function                                            @R.function
 *     def embed(ids: R.Tensor(("seq_len",)), ...)     =>     def alloc_embedding_tensor():
 *         -> R.Tensor(("seq_len", 4096), "float16")              gv = R.builtin.alloc_tensor(R.shape([2048, 4096]), R.dtype("float16"), 0)
 *                                                                return gv
 *
 * Rows: the option prefill_chunk_size, or else the bound that tir_var_upper_bound of `embed` has for its rows; without either nothing is
 * attached, as without `embed`. Cases: tests/pass/AttachAllocEmbeddingTensorFunc.
 */
#include "llm.h"

#include "tenon/core/builder.h"

static const char made[] = "alloc_embedding_tensor";

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    tn_ctx *ctx = pc->ctx;
    const tn_function *embed = tn_as_function(tn_module_get(m, "embed"));
    int64_t rows = tn_option_int(pc, "prefill_chunk_size");
    tn_list dims;
    if (!embed || tn_module_get(m, made))
        return m;
    if (!tn_type_dims(embed->ret, &dims) || dims.n < 2 || !tn_is(embed->ret, TN_KIND_TY_TENSOR)) {
        tn_error(ctx, embed->base.loc, TNB_TYPE,
                 "AttachAllocEmbeddingTensorFunc: 'embed' gives %s, expected a tensor of rows",
                 tn_text(ctx, embed->ret));
        return NULL;
    }
    if (!rows && !tn_int_value(dims.at[0], &rows) && tn_is_var(dims.at[0]))
        rows = tn_dict_int(tn_func_attr(TN_NODE(embed), "tir_var_upper_bound"),
                           tn_var_name(dims.at[0]), 0);
    if (rows <= 0)
        return m;
    const tn_expr *shape =
        tn_shape_expr_of(ctx, tn_listv(ctx, tn_i64(ctx, rows), dims.at[dims.n - 1], NULL));
    tn_builder *b = tn_builder_new(ctx, m);
    tn_builder_begin_function(b, (tn_list){0});
    tn_builder_begin_block(b, false);
    const tn_expr *gv = tn_emit(b,
                                tn_call_opv(ctx, "relax.builtin.alloc_tensor", NULL, shape,
                                            tn_dtype_imm_of(ctx, tn_type_dtype(embed->ret)),
                                            tn_i64(ctx, 0), tn_string(ctx, "global"), NULL),
                                "gv");
    tn_builder_end_block(b);
    const tn_node *attrs = tn_dictv(ctx, "global_symbol", tn_string(ctx, made), NULL);
    const tn_expr *f = tn_builder_end_function(b, gv, NULL, true, attrs);
    return tn_is_error(f) ? NULL : tn_module_set(ctx, m, made, f);
}

static const tn_attr_schema options[] = {
    {"prefill_chunk_size", TN_ATTR_INT, 0, "0", "rows; 0: the bound of the rows that `embed` gives",
     ">=0"},
    {0},
};

const tn_pass llm_attach_alloc_embedding_tensor_func = {
    .base.size = sizeof(tn_pass),
    .base.name = "AttachAllocEmbeddingTensorFunc",
    .base.doc = "add a function that allocates what holds a prompt's embeddings",
    .options = options,
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
