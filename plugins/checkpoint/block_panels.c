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

#include <string.h>
#include "tenon/base/gguf.h"
#include "tenon/core/registry.h"
#include "tenon/core/walk.h"

typedef struct rewriting {
    tn_ctx *ctx;
    int64_t height; /* rows of a panel */
    tn_builder *b;
    tnb_ptrmap values; /* variable -> the value it is bound to */
    uint32_t *places;  /* by item of packed_params: that of its first part; 0: none */
    tn_list list;      /* of the module's `params` */
    const tn_type *packed;
    uint32_t n_packed;
    tn_list fields;         /* of packed_params */
    const tn_expr *renewed; /* the function's parameter with more fields; NULL: it has none */
    TNB_VEC(const tn_node *) bindings;
    bool dataflow, any;
} rewriting;

/* A product whose weight is to lie in panels. */
typedef struct product {
    const checkpoint_panels *p;
    int64_t item, rows, columns;
} product;

static bool
read_call(rewriting *w, const tn_expr *value, product *out)
{
    const tn_call *call = tn_is_call_to(value, "relax.gguf_matmul");
    const tn_expr *weight = call ? tnb_ptrmap_get(&w->values, call->args.at[1]) : NULL;
    const tn_tuple_get *item = weight ? tn_as_tuple_get(weight) : NULL;
    tn_list x, rows;
    if (!item || item->tuple->type != w->packed || !tn_is_var(item->tuple) ||
        item->index >= w->n_packed || tn_dict_get(w->list.at[item->index], "transform"))
        return false;
    out->p = checkpoint_panels_of(checkpoint_type_of_name(tn_call_str(call, "type")));
    out->item = item->index;
    return out->p && tn_type_dims(call->args.at[0]->type, &x) &&
           tn_type_dims(call->args.at[1]->type, &rows) && tn_int_value(rows.at[0], &out->rows) &&
           out->rows > 0 && tn_int_value(x.at[x.n - 1], &out->columns) && out->columns > 0;
}

/* ---- weights ---- */

/* Adds the parts of the weight to packed_params. */
static void
add_parts(rewriting *w, const product *f)
{
    tn_ctx *ctx = w->ctx;
    const tnb_gguf_type t = tnb_gguf_type_of(f->p->type);
    const int64_t panels = (f->rows + w->height - 1) / w->height;
    if (w->places[f->item])
        return;
    w->places[f->item] = w->list.n;
    for (uint32_t i = 0; i < f->p->n; i++) {
        const int64_t start = f->p->part[i].start, bytes = f->p->part[i].bytes;
        const tnb_dtype d = TNB_DTYPE(TNB_UINT, f->p->part[i].half ? 16 : 32);
        const int64_t shape[] = {panels, f->columns / t.elems, w->height,
                                 bytes / (int64_t)tnb_dtype_bytes(d)};
        const tn_expr *dims[] = {tn_i64(ctx, shape[0]), tn_i64(ctx, shape[1]),
                                 tn_i64(ctx, shape[2]), tn_i64(ctx, shape[3])};
        const int64_t part[] = {start, bytes};
        tn_node const *how =
            tn_dictv(ctx, "kind", tn_string(ctx, "interleave_rows"), "rows", tn_i64(ctx, w->height),
                     "block", tn_i64(ctx, t.bytes), "part", tn_int_array(ctx, part, 2),
                     "source_rows", tn_i64(ctx, f->rows), NULL);
        const tn_node *e = w->list.at[f->item];
        e = tn_dict_set(ctx, e, "shape", tn_int_array(ctx, shape, 4));
        e = tn_dict_set(ctx, e, "bytes", tn_i64(ctx, shape[0] * shape[1] * shape[2] * bytes));
        e = tn_dict_set(ctx, e, "dtype", tn_string(ctx, f->p->part[i].half ? "uint16" : "uint32"));
        e = tn_dict_set(ctx, e, "transform", how);
        w->list = tn_list_append(ctx, w->list, e);
        w->fields =
            tn_list_append(ctx, w->fields, tn_ty_tensor_dims(ctx, tn_list_of(ctx, dims, 4), d));
    }
}

/* What variables are bound to, and which weights are taken. */
static tn_walk_step
find_weights(void *user, const tn_node *n)
{
    rewriting *w = user;
    product f;
    const tn_var_binding *v = tn_is(n, TN_KIND_VAR_BINDING) ? tn_as_var_binding(n) : NULL;
    if (v)
        tnb_ptrmap_set(&w->values, v->var, (void *)(uintptr_t)v->value);
    if (v && read_call(w, v->value, &f)) {
        w->any = true;
        add_parts(w, &f);
    }
    return TN_WALK_ON;
}

/* The metadata's list of weights, where functions have a parameter of so many fields. */
static bool
find_packed(rewriting *w, const tn_module *m)
{
    const tn_array *list = tn_as_array(tn_dict_get(tn_dict_get(m->attrs, "params"), "list"));
    for (uint32_t i = 0; list && i < m->funcs.n; i++) {
        const tn_function *f = tn_as_function(m->funcs.at[i]);
        for (uint32_t k = 0; f && k < f->params.n; k++) {
            const tn_type *t = ((const tn_expr *)f->params.at[k])->type;
            const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
            if (!tuple || tuple->fields.n != list->items.n)
                continue;
            w->packed = t;
            w->fields = tuple->fields;
            w->list = list->items;
            w->n_packed = list->items.n;
            w->places = TNB_NEW_N(tn_scratch(w->ctx), uint32_t, w->n_packed);
            memset(w->places, 0, w->n_packed * sizeof *w->places);
            return true;
        }
    }
    return false;
}

/* ---- functions ---- */

static const tn_expr *
bind(rewriting *w, const tn_expr *value, const char *name)
{
    if (tn_is_error(value))
        return value;
    const tn_expr *v = w->dataflow ? tn_dataflow_var_new(w->ctx, name, value->type)
                                   : tn_var_new(w->ctx, name, value->type);
    TNB_PUSH(tn_scratch(w->ctx), w->bindings, tn_var_binding_of(w->ctx, v, value));
    return v;
}

/* What the product becomes; what it needs is bound before. */
static const tn_expr *
multiply(rewriting *w, const tn_expr *x, const product *f)
{
    tn_ctx *ctx = w->ctx;
    const tn_expr *parts[CHECKPOINT_PANEL_PARTS];
    tn_list dims;
    for (uint32_t i = 0; i < f->p->n; i++)
        parts[i] = bind(w, tn_tuple_item(ctx, w->renewed, w->places[f->item] + i), "part");
    if (tn_type_dims(x->type, &dims) && dims.n == 3 && tn_is_int_const(dims.at[1], 1))
        return checkpoint_panels_product(w->b, x, parts, f->p, f->rows, f->columns);
    const tn_expr *m =
        bind(w, checkpoint_panels_dequantize(w->b, parts, f->p, f->rows, f->columns), "matrix");
    m = bind(w, tn_call_opv(ctx, "permute_dims", NULL, m, NULL), "turned");
    return tn_call_opv(ctx, "matmul", NULL, x, m, NULL);
}

static const tn_node *
rewrite_block(tn_rewriter *r, const tn_node *n)
{
    rewriting *w = r->user;
    const tn_bindings_block *block = tn_as_bindings_block(n);
    if (!block || !w->renewed)
        return NULL;
    w->bindings.n = 0;
    w->dataflow = n->kind == TN_KIND_DATAFLOW_BLOCK;
    for (uint32_t i = 0; i < block->bindings.n; i++) {
        const tn_node *b = block->bindings.at[i];
        const tn_var_binding *v = tn_is(b, TN_KIND_VAR_BINDING) ? tn_as_var_binding(b) : NULL;
        product f;
        if (v && read_call(w, v->value, &f)) {
            const tn_node *x = tn_rewrite_child(r, tn_as_call(v->value)->args.at[0]);
            const tn_expr *y = multiply(w, (const tn_expr *)x, &f);
            if (tn_is_error(y))
                return y;
            b = tn_var_binding_of(w->ctx, v->var, y);
        } else {
            b = tn_rewrite_child(r, b);
        }
        TNB_PUSH(tn_scratch(w->ctx), w->bindings, b);
    }
    const tn_node **copy =
        tnb_dup(tn_arena(w->ctx), w->bindings.at, w->bindings.n * sizeof *w->bindings.at);
    return tn_binding_block_of(w->ctx, (tn_list){copy, w->bindings.n}, w->dataflow);
}

static const tn_node *
rewrite_function(rewriting *w, const tn_function *f)
{
    tn_ctx *ctx = w->ctx;
    tn_list params = f->params;
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    w->renewed = NULL;
    for (uint32_t i = 0; i < f->params.n; i++) {
        const tn_expr *p = f->params.at[i];
        if (p->type != w->packed)
            continue;
        w->renewed = tn_var_new(ctx, tn_var_name(p), tn_ty_tuple_of(ctx, w->fields));
        tn_list_change(ctx, &params, f->params, i, w->renewed);
        tnb_ptrmap_set(&map, p, (void *)(uintptr_t)w->renewed);
    }
    if (!w->renewed)
        return TN_NODE(f);
    tn_rewriter r = {.ctx = ctx, .user = w, .pre = rewrite_block, .map = &map};
    const tn_node *body = tn_rewrite(&r, f->body);
    return tn_is_error(body) ? body : tn_function_of(ctx, params, body, f->ret, f->pure, f->attrs);
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    tn_ctx *ctx = pc->ctx;
    rewriting w = {.ctx = ctx,
                   .height = pc->target ? tn_dict_int(pc->target->attrs, "panel_rows", 0) : 0};
    if (w.height < 1 || !find_packed(&w, m))
        return m;
    tnb_ptrmap_init(&w.values, tn_scratch(ctx));
    for (uint32_t i = 0; i < m->funcs.n; i++)
        if (tn_is(m->funcs.at[i], TN_KIND_FUNCTION))
            (void)tn_walk(m->funcs.at[i], 0, find_weights, NULL, &w);
    if (!w.any)
        return m;
    w.b = tn_builder_new(ctx, m);
    const tn_node **changed = TNB_NEW_N(tn_scratch(ctx), const tn_node *, m->funcs.n);
    for (uint32_t i = 0; i < m->funcs.n; i++) {
        const tn_function *f = tn_as_function(m->funcs.at[i]);
        changed[i] = f ? rewrite_function(&w, f) : m->funcs.at[i];
        if (tn_is_error(changed[i]))
            return NULL;
    }
    const tn_module *out = tn_builder_module(w.b);
    for (uint32_t i = 0; out && i < m->funcs.n; i++)
        if (changed[i] != m->funcs.at[i])
            out = tn_module_set(ctx, out, tn_module_name(m, i), changed[i]);
    const tn_node *params =
        tn_dict_set(ctx, tn_dict_get(m->attrs, "params"), "list", tn_array_of(ctx, w.list));
    return out ? tn_module_with_attrs(ctx, out, tn_dict_set(ctx, m->attrs, "params", params))
               : NULL;
}

const tn_pass checkpoint_block_panels = {
    .base.size = sizeof(tn_pass),
    .base.name = "BlockPanels",
    .base.doc = "weights in GGUF's blocks as panels of rows, where the target has panel_rows",
    .keeps = TN_KEEPS_TOLERANCE,
    .run = run,
    .needs = "op",
};
