/* SPDX-License-Identifier: Apache-2.0 */
/* R.gguf_matmul(x, w, type="Q4_0"): x, float32 [..., columns], times the turned matrix of w, uint8 [rows, bytes], whose rows are blocks
 * of GGUF's as the file has them.
 *
 * Its own rule computes with float32: in the product where x has one row a sequence, else the weights are made numbers in
 * front of it. A target may have another rule.
 */
#include "checkpoint.h"

#include "tenon/base/gguf.h"
#include "tenon/core/registry.h"

uint32_t
checkpoint_type_of_name(const char *name)
{
    for (uint32_t t = 0; t <= TNB_GGUF_BF16; t++) {
        const char *own = tnb_gguf_type_of(t).name;
        if (own && strcmp(own, name) == 0 && checkpoint_knows_blocks(t))
            return t;
    }
    return UINT32_MAX;
}

static const tn_type *
infer(tn_ctx *ctx, const tn_call *call)
{
    const tn_type *x = call->args.at[0]->type, *w = call->args.at[1]->type;
    const char *name = tn_call_str(call, "type");
    const uint32_t type = checkpoint_type_of_name(name);
    tn_list xd, wd;
    int64_t columns, bytes;
    if (type == UINT32_MAX)
        return tn_error(ctx, 0, TNB_UNSUPPORTED, "gguf_matmul: '%s' is no type of blocks", name);
    if (!tn_is(x, TN_KIND_TY_TENSOR) || !tnb_dtype_eq(tn_type_dtype(x), TNB_F32) ||
        !tn_is(w, TN_KIND_TY_TENSOR) || !tnb_dtype_eq(tn_type_dtype(w), TNB_U8))
        return tn_error(ctx, 0, TNB_TYPE, "gguf_matmul takes float32 and rows of blocks in uint8");
    if (!tn_type_dims(x, &xd) || xd.n < 1 || !tn_type_dims(w, &wd) || wd.n != 2 ||
        !tn_int_value(wd.at[1], &bytes) || !tn_int_value(xd.at[xd.n - 1], &columns))
        return tn_error(ctx, 0, TNB_SHAPE,
                        "gguf_matmul takes [..., columns] and [rows, bytes] with known columns and "
                        "bytes");
    const tnb_gguf_type t = tnb_gguf_type_of(type);
    if (columns % t.elems || columns / t.elems * t.bytes != bytes)
        return tn_error(ctx, 0, TNB_SHAPE,
                        "gguf_matmul: %lld columns are not what rows of %lld bytes of %s have",
                        (long long)columns, (long long)bytes, t.name);
    return tn_ty_tensor_dims(ctx, tn_list_with(ctx, xd, xd.n - 1, wd.at[0]), TNB_F32);
}

const tn_expr *
checkpoint_turned_product(tn_builder *b, const tn_expr *x, const tn_expr *rows)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_expr *w = tn_emit(b, tn_call_opv(ctx, "permute_dims", NULL, rows, NULL), "turned");
    return tn_call_opv(ctx, "matmul", NULL, x, w, NULL);
}

static const tn_expr *
legalize(tn_builder *b, const tn_call *call)
{
    const tn_expr *x = call->args.at[0], *w = call->args.at[1];
    const uint32_t type = checkpoint_type_of_name(tn_call_str(call, "type"));
    tn_list xd;
    int64_t columns;
    if (!tn_type_dims(x->type, &xd) || !tn_int_value(xd.at[xd.n - 1], &columns))
        return NULL;
    if (xd.n == 3 && tn_is_int_const(xd.at[1], 1))
        return checkpoint_block_product(b, x, w, type, columns);
    return checkpoint_turned_product(b, x, checkpoint_dequantize(b, w, type, columns));
}

static const tn_arg_schema args[] = {{"x", "float32, [..., columns]"},
                                     {"w", "uint8, [rows, bytes]: rows of blocks"},
                                     {NULL, NULL}};
static const tn_attr_schema attrs[] = {
    {"type", TN_ATTR_STR, 0, "\"Q4_0\"", "what the blocks are, by GGUF's name"},
    {0},
};

const tn_op checkpoint_gguf_matmul = {
    .base.size = sizeof(tn_op),
    .base.name = "relax.gguf_matmul",
    .base.doc = "a product with the turned matrix of weights in GGUF's blocks",
    .args = args,
    .min_args = -1,
    .attrs = attrs,
    .mixed = TN_MIXED_NEVER,
    .result = "float32, [..., rows]",
    .infer = infer,
    .legalize = legalize,
};
