/* SPDX-License-Identifier: Apache-2.0 */
/* BlockPanels: weights in GGUF's blocks as panels of rows, for targets whose attribute panel_rows says of how many.
 *
 *     w = packed_params[3]  # uint8 [2048, 1152]          d = packed_params[40]  # uint16 [256, 64, 8, 1]
 *     y = R.gguf_matmul(x, w, type="Q4_0")           =>   q = packed_params[41]  # uint32 [256, 64, 8, 4]
 *                                                         y = R.call_tir(cls.product_Q4_0, (x, d, q), ...)
 *
 * A block of 18 or 34 bytes is aligned to nothing, and threads that read blocks of their own read bytes that lie apart. In panels a
 * part of a block is words, and those of neighbouring rows lie side by side. Weights that the artifact's metadata describe (`params`)
 * get further entries there, which the runtime makes by interleaving rows, once; others stay as they are, for the rule of the
 * operator. Products of several rows have a program in front of them that makes the matrix: within the product each tile would make it
 * again. Cases: tests/pass/BlockPanels, tests/cuda/panels.py.
 */
#include "checkpoint.h"

#include "tenon/base/gguf.h"
#include "tenon/core/registry.h"
#include "tenon/kit/weights.h"

typedef struct panels {
    tn_ctx *ctx;
    int64_t height;    /* rows of a panel */
    tnb_strmap places; /* item of packed_params -> that of its first part + 1 */
} panels;

/* A product whose weight is to lie in panels. */
typedef struct product {
    const checkpoint_panels *p;
    int64_t item, rows, columns;
} product;

static bool
read_call(const tnk_weights *w, const tn_expr *value, product *out)
{
    const tn_call *call = tn_is_call_to(value, "relax.gguf_matmul");
    tn_list x, rows;
    out->item = call ? tnk_weights_item(w, call->args.at[1]) : -1;
    if (out->item < 0 || tn_dict_get(w->list.at[out->item], "transform"))
        return false;
    out->p = checkpoint_panels_of(checkpoint_type_of_name(tn_call_str(call, "type")));
    return out->p && tn_type_dims(call->args.at[0]->type, &x) &&
           tn_type_dims(call->args.at[1]->type, &rows) && tn_int_value(rows.at[0], &out->rows) &&
           out->rows > 0 && tn_int_value(x.at[x.n - 1], &out->columns) && out->columns > 0;
}

static const char *
key_of(const panels *p, int64_t item)
{
    return tn_strf(p->ctx, "%lld", (long long)item);
}

/* Adds the parts of a weight. */
static bool
find(void *user, tnk_weights *w, const tn_expr *value)
{
    panels *own = user;
    tn_ctx *ctx = own->ctx;
    product f;
    if (!read_call(w, value, &f))
        return false;
    const char *key = key_of(own, f.item);
    const tnb_gguf_type t = tnb_gguf_type_of(f.p->type);
    const int64_t n = (f.rows + own->height - 1) / own->height;
    if (tnb_strmap_get(&own->places, key))
        return true;
    tnb_strmap_set(&own->places, key, (void *)(uintptr_t)(w->list.n + 1));
    for (uint32_t i = 0; i < f.p->n; i++) {
        const int64_t part[] = {f.p->part[i].start, f.p->part[i].bytes};
        const tnb_dtype d = TNB_DTYPE(TNB_UINT, f.p->part[i].half ? 16 : 32);
        const int64_t shape[] = {n, f.columns / t.elems, own->height,
                                 part[1] / (int64_t)tnb_dtype_bytes(d)};
        const tn_node *how =
            tn_dictv(ctx, "kind", tn_string(ctx, "interleave_rows"), "rows",
                     tn_i64(ctx, own->height), "block", tn_i64(ctx, t.bytes), "part",
                     tn_int_array(ctx, part, 2), "source_rows", tn_i64(ctx, f.rows), NULL);
        (void)tnk_weights_add(w, f.item, shape, 4, d, how);
    }
    return true;
}

static const tn_expr *
replace(void *user, tnk_weights *w, const tn_expr *value)
{
    panels *own = user;
    const tn_expr *parts[CHECKPOINT_PANEL_PARTS];
    product f;
    tn_list dims;
    if (!w->has_packed || !read_call(w, value, &f))
        return NULL;
    const tn_expr *x = tn_as_call(value)->args.at[0];
    const int64_t place = (int64_t)(uintptr_t)tnb_strmap_get(&own->places, key_of(own, f.item)) - 1;
    for (uint32_t i = 0; i < f.p->n; i++)
        parts[i] = tnk_weights_get(w, place + i);
    if (tn_type_dims(x->type, &dims) && dims.n == 3 && tn_is_int_const(dims.at[1], 1))
        return checkpoint_panels_product(w->b, x, parts, f.p, f.rows, f.columns);
    const tn_expr *m = checkpoint_panels_dequantize(w->b, parts, f.p, f.rows, f.columns);
    m = tnk_weights_bind(w, m, "matrix");
    m = tnk_weights_bind(w, tn_call_opv(w->ctx, "permute_dims", NULL, m, NULL), "turned");
    return tn_call_opv(w->ctx, "matmul", NULL, x, m, NULL);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    panels own = {.ctx = pc->ctx,
                  .height = pc->target ? tn_dict_int(pc->target->attrs, "panel_rows", 0) : 0};
    if (own.height < 1)
        return m;
    tnb_strmap_init(&own.places, tn_scratch(pc->ctx));
    return tnk_weights_rewrite(pc->ctx, m,
                               &(tnk_weights_user){.user = &own, .find = find, .replace = replace});
}

const tn_pass checkpoint_block_panels = {
    .base.size = sizeof(tn_pass),
    .base.name = "BlockPanels",
    .base.doc = "weights in GGUF's blocks as panels of rows, where the target has panel_rows",
    .keeps = TN_KEEPS_TOLERANCE,
    .run = run,
    .needs = "op",
};
