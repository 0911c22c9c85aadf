/* SPDX-License-Identifier: Apache-2.0 */
/* BlockProducts: products with weights in GGUF's blocks, and with those that --quantize makes, by integer dot products.
 *
 *     w = packed_params[3]                                q = R.call_tir(cls.quantize, (x,), ...)
 *     y = R.gguf_matmul(x, w, type="Q4_0")           =>   w1 = packed_params[40]
 *                                                         y = R.call_tir(cls.product, (q[0], q[1], q[2], w1), ...)
 *
 * Activations are quantized to int8 by blocks of 32: other numbers than before, which the target's attribute
 * block_activations=float32 keeps. They are quantized once for all products that take them. Weights that the artifact's metadata
 * describe (`params`) get another entry there, which the runtime makes by interleaving rows, once; other weights are interleaved as
 * the function runs. Weights of R.quantized_matmul whose entry says how they are quantized get one for the same numbers in blocks,
 * Q4_0 or Q8_0; others stay as they are, for the rule of the operator. The programs: block_program.c. Cases: tests/llm/block_product.py.
 */
#include "block_product.h"

#include <string.h>
#include "cpu.h"
#include "tenon/core/builder.h"
#include "tenon/core/walk.h"

typedef struct rewriting {
    tn_ctx *ctx;
    int64_t lanes;
    tn_builder *b;
    tnb_strmap programs;  /* kind, format and extents -> PrimFunc */
    tnb_ptrmap quantized; /* activations -> their forms in this function, one for each format */
    tnb_ptrmap values;    /* variable -> the value it is bound to */
    tnb_strmap places;    /* item of packed_params and format -> place of the interleaved one + 1 */
    tn_list list;         /* of the module's `params` */
    const tn_type
        *packed;    /* the type of packed_params as the importer made it; NULL: there is none */
    tn_list fields; /* its fields, and those that were added */
    const tn_expr *param,
        *renewed; /* the function's parameter; with more fields; NULL: it has none */
    TNB_VEC(const tn_node *) bindings; /* of the block at hand */
    bool dataflow, any;
} rewriting;

/* ---- types ---- */

static const tn_type *
with_last(rewriting *w, const cpu_block_extents *e, int64_t last, tnb_dtype d)
{
    return tn_ty_tensor_dims(w->ctx, tn_list_append(w->ctx, e->batch, tn_i64(w->ctx, last)), d);
}

/* The item of packed_params that a weight is; -1: it is none. */
static int64_t
item_of(rewriting *w, const tn_expr *weight)
{
    const tn_expr *value = tnb_ptrmap_get(&w->values, weight);
    const tn_tuple_get *item = value ? tn_as_tuple_get(value) : NULL;
    return item && w->packed && item->tuple->type == w->packed && tn_is_var(item->tuple) &&
                   item->index < w->list.n
               ? item->index
               : -1;
}

/* How the runtime quantizes the weight of R.quantized_matmul, as numbers; NULL: it does not. */
static const tn_node *
quantization_of(rewriting *w, const tn_expr *words)
{
    const int64_t item = item_of(w, words);
    const tn_node *t = item < 0 ? NULL : tn_dict_get(w->list.at[item], "transform");
    return t && !strcmp(tn_dict_str(t, "kind", ""), "quantize") &&
                   !strcmp(tn_dict_str(t, "part", ""), "numbers")
               ? t
               : NULL;
}

/* The call as one of a product with weights in blocks; NULL: it is none. */
static const tn_call *
as_product(const tn_expr *value)
{
    const tn_call *call = tn_is_call_to(value, "relax.gguf_matmul");
    return call ? call : tn_is_call_to(value, "relax.quantized_matmul");
}

static const cpu_block_format *
format_of(rewriting *w, const tn_call *call)
{
    if (tn_is_call_to(&call->base, "relax.gguf_matmul"))
        return cpu_block_format_of(tn_call_str(call, "type"));
    const bool half = tnb_dtype_eq(tn_type_dtype(call->args.at[2]->type), TNB_F16);
    return half && quantization_of(w, call->args.at[1])
               ? cpu_block_format_of(tn_call_int(call, "bits") == 4 ? "Q4_0" : "Q8_0")
               : NULL;
}

/* Extents of a product; false: it stays as it is. */
static bool
read_call(rewriting *w, const tn_call *call, const cpu_block_format **f, cpu_block_extents *e)
{
    tn_list x, rows;
    *f = format_of(w, call);
    if (!*f || !tn_type_dims(call->args.at[0]->type, &x) ||
        !tn_type_dims(call->args.at[1]->type, &rows) || !tn_int_value(rows.at[0], &e->rows) ||
        e->rows < 1 || !tn_int_value(x.at[x.n - 1], &e->columns) || e->columns < 1 ||
        e->columns % (*f)->elems)
        return false;
    e->lanes = w->lanes;
    e->padded = (e->rows + w->lanes - 1) / w->lanes * w->lanes;
    e->batch = (tn_list){x.at, x.n - 1};
    for (uint32_t i = 0; i < e->batch.n; i++) {
        int64_t n;
        /* a program finds extents out by its arguments' shapes: numbers, or variables of their own */
        if (!tn_int_value(e->batch.at[i], &n) && !tn_is_var(e->batch.at[i]))
            return false;
    }
    return true;
}

/* ---- programs ---- */

typedef const tn_node *
make_program(tn_ctx *ctx, const cpu_block_format *f, const cpu_block_extents *e);

static const tn_node *
program(rewriting *w, const char *kind, make_program *make, const cpu_block_format *f,
        const cpu_block_extents *e)
{
    const char *key = tn_strf(w->ctx, "%s %s %lld %lld", kind, f->name, (long long)e->rows,
                              (long long)e->columns);
    for (uint32_t i = 0; i < e->batch.n; i++) {
        int64_t n = -1;
        (void)tn_int_value(e->batch.at[i], &n);
        key = tn_strf(w->ctx, "%s %lld", key, (long long)n);
    }
    const tn_node *p = tnb_strmap_get(&w->programs, key);
    if (!p) {
        p = make(w->ctx, f, e);
        tnb_strmap_set(&w->programs, key, (void *)(uintptr_t)p);
    }
    return p;
}

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

static const tn_expr *
call_program(rewriting *w, const tn_node *p, const char *name, tn_list args, const tn_type *out)
{
    return tn_is_error(p) ? p : tn_builder_call_tir(w->b, p, name, args, out);
}

/* ---- activations ---- */

typedef struct quantized {
    const cpu_block_format *f;
    const tn_expr *parts[3];
    struct quantized *next;
} quantized;

static const quantized *
quantize(rewriting *w, const tn_expr *x, const cpu_block_format *f, const cpu_block_extents *e)
{
    quantized *first = tnb_ptrmap_get(&w->quantized, x);
    for (quantized *q = first; q; q = q->next)
        if (q->f->part == f->part && q->f->extra == f->extra && q->f->offset == f->offset)
            return q;
    const tn_type *types[3] = {with_last(w, e, e->columns, TNB_DTYPE(TNB_INT, 8)),
                               with_last(w, e, e->columns / 32, TNB_F32),
                               with_last(w, e, e->columns / f->part,
                                         f->extra == CPU_BLOCK_SUM ? TNB_F32 : TNB_I32)};
    cpu_block_extents any = *e;
    any.rows = any.padded = 0; /* the program is the same for all matrices */
    const tn_expr *all = bind(w,
                              call_program(w, program(w, "quantize", cpu_block_quantize, f, &any),
                                           "quantize", tn_list_of(w->ctx, &x, 1),
                                           tn_ty_tuple_of(w->ctx, tn_list_of(w->ctx, types, 3))),
                              "quantized");
    quantized *q = TNB_NEW(tn_scratch(w->ctx), quantized);
    q->f = f;
    q->next = first;
    for (int i = 0; i < 3; i++)
        q->parts[i] = tn_is_error(all) ? all : bind(w, tn_tuple_item(w->ctx, all, i), "part");
    tnb_ptrmap_set(&w->quantized, x, q);
    return q;
}

/* ---- weights ---- */

/* What the runtime does with the weight; `of`: how it is quantized first, or NULL. */
static const tn_node *
transform_of(rewriting *w, const cpu_block_format *f, const cpu_block_extents *e, const tn_node *of)
{
    tn_ctx *ctx = w->ctx;
    tn_list fields = {0};
    for (int i = 0; i < CPU_BLOCK_FIELDS && f->field[i].bytes; i++) {
        const int64_t field[] = {f->field[i].bytes, f->field[i].granule};
        fields = tn_list_append(ctx, fields, tn_int_array(ctx, field, 2));
    }
    const tn_node *t =
        tn_dictv(ctx, "kind", tn_string(ctx, "interleave_rows"), "rows", tn_i64(ctx, e->lanes),
                 "block", tn_i64(ctx, f->bytes), "fields", tn_array_of(ctx, fields), NULL);
    if (of)
        t = tn_dict_set(ctx, t, "of", tn_dict_set(ctx, of, "part", tn_string(ctx, "blocks")));
    return e->padded > e->rows ? tn_dict_set(ctx, t, "source_rows", tn_i64(ctx, e->rows)) : t;
}

static const char *
place_key(rewriting *w, int64_t item, const cpu_block_format *f)
{
    return tn_strf(w->ctx, "%lld %s", (long long)item, f->name);
}

/* Adds item i of packed_params with its rows interleaved. */
static void
add_interleaved(rewriting *w, int64_t i, const cpu_block_format *f, const cpu_block_extents *e,
                const tn_node *of)
{
    tn_ctx *ctx = w->ctx;
    const char *key = place_key(w, i, f);
    if (tnb_strmap_get(&w->places, key))
        return;
    const int64_t shape[] = {e->padded, e->columns / f->elems * f->bytes};
    const tn_expr *dims[] = {tn_i64(ctx, shape[0]), tn_i64(ctx, shape[1])};
    const tn_node *d = w->list.at[i];
    d = tn_dict_set(ctx, d, "shape", tn_int_array(ctx, shape, 2));
    d = tn_dict_set(ctx, d, "bytes", tn_i64(ctx, shape[0] * shape[1]));
    d = tn_dict_set(ctx, d, "dtype", tn_string(ctx, "uint8"));
    d = tn_dict_set(ctx, d, "transform", transform_of(w, f, e, of));
    w->list = tn_list_append(ctx, w->list, d);
    w->fields =
        tn_list_append(ctx, w->fields, tn_ty_tensor_dims(ctx, tn_list_of(ctx, dims, 2), TNB_U8));
    tnb_strmap_set(&w->places, key, (void *)(uintptr_t)w->list.n);
}

/* The weight in panels. */
static const tn_expr *
panels(rewriting *w, const tn_expr *weight, const cpu_block_format *f, const cpu_block_extents *e)
{
    tn_ctx *ctx = w->ctx;
    const int64_t item = item_of(w, weight);
    const uintptr_t place =
        item >= 0 ? (uintptr_t)tnb_strmap_get(&w->places, place_key(w, item, f)) : 0;
    if (place && w->renewed)
        return bind(w, tn_tuple_item(ctx, w->renewed, (int64_t)place - 1), "panels");
    const tn_expr *dims[] = {tn_i64(ctx, e->padded), tn_i64(ctx, e->columns / f->elems * f->bytes)};
    return bind(w,
                call_program(w, program(w, "interleave", cpu_block_interleave, f, e), "interleave",
                             tn_list_of(ctx, &weight, 1),
                             tn_ty_tensor_dims(ctx, tn_list_of(ctx, dims, 2), TNB_U8)),
                "panels");
}

/* ---- functions ---- */

/* What variables are bound to, and which weights are taken. */
static tn_walk_step
find_weights(void *user, const tn_node *n)
{
    rewriting *w = user;
    const cpu_block_format *f;
    cpu_block_extents e;
    const tn_var_binding *v = tn_is(n, TN_KIND_VAR_BINDING) ? tn_as_var_binding(n) : NULL;
    const tn_call *call = v ? as_product(v->value) : NULL;
    if (v)
        tnb_ptrmap_set(&w->values, v->var, (void *)(uintptr_t)v->value);
    if (call && read_call(w, call, &f, &e)) {
        const int64_t item = item_of(w, call->args.at[1]);
        w->any = true;
        if (item >= 0)
            add_interleaved(w, item, f, &e,
                            call->args.n > 2 ? quantization_of(w, call->args.at[1]) : NULL);
    }
    return TN_WALK_ON;
}

/* The product that the call becomes; what it needs is bound before. NULL: it stays. */
static const tn_expr *
product(rewriting *w, const tn_call *call)
{
    const cpu_block_format *f;
    cpu_block_extents e;
    if (!read_call(w, call, &f, &e) || (call->args.n > 2 && !w->renewed))
        return NULL;
    const quantized *q = quantize(w, call->args.at[0], f, &e);
    const tn_expr *args[] = {q->parts[0], q->parts[1], q->parts[2],
                             panels(w, call->args.at[1], f, &e)};
    return call_program(w, program(w, "product", cpu_block_multiply, f, &e), "product",
                        tn_list_of(w->ctx, args, 4), call->base.type);
}

static const tn_node *
rewrite_block(tn_rewriter *r, const tn_node *n)
{
    rewriting *w = r->user;
    const tn_bindings_block *block = tn_as_bindings_block(n);
    if (!block)
        return NULL;
    w->bindings.n = 0;
    w->dataflow = n->kind == TN_KIND_DATAFLOW_BLOCK;
    for (uint32_t i = 0; i < block->bindings.n; i++) {
        const tn_node *b = block->bindings.at[i];
        const tn_var_binding *v = tn_is(b, TN_KIND_VAR_BINDING) ? tn_as_var_binding(b) : NULL;
        const tn_call *call = v ? as_product(v->value) : NULL;
        const tn_expr *value = call ? product(w, call) : NULL;
        if (value && tn_is_error(value))
            return value;
        TNB_PUSH(tn_scratch(w->ctx), w->bindings,
                 value ? tn_var_binding_of(w->ctx, v->var, value) : tn_rewrite_child(r, b));
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
    tnb_ptrmap_init(&w->quantized, tn_scratch(ctx));
    w->renewed = NULL;
    for (uint32_t i = 0; i < f->params.n; i++) {
        const tn_expr *p = f->params.at[i];
        if (!w->packed || p->type != w->packed)
            continue;
        w->renewed = tn_var_new(ctx, tn_var_name(p), tn_ty_tuple_of(ctx, w->fields));
        tn_list_change(ctx, &params, f->params, i, w->renewed);
        tnb_ptrmap_set(&map, p, (void *)(uintptr_t)w->renewed);
    }
    tn_rewriter r = {.ctx = ctx, .user = w, .pre = rewrite_block, .map = &map};
    const tn_node *body = tn_rewrite(&r, f->body);
    return tn_is_error(body) ? body : tn_function_of(ctx, params, body, f->ret, f->pure, f->attrs);
}

/* Items of packed_params that functions read. */
typedef struct readings {
    tnb_ptrmap items; /* variable -> the item that it is + 1 */
    uint32_t n;       /* of packed_params */
    bool *read;
} readings;

static tn_walk_step
find_readings(void *user, const tn_node *n)
{
    readings *r = user;
    const tn_var_binding *v = tn_is(n, TN_KIND_VAR_BINDING) ? tn_as_var_binding(n) : NULL;
    const tn_tuple_get *item = v ? tn_as_tuple_get(v->value) : NULL;
    const tn_ty_tuple *of = item ? tn_as_ty_tuple(item->tuple->type) : NULL;
    if (of && of->fields.n == r->n && tn_is_var(item->tuple)) {
        tnb_ptrmap_set(&r->items, v->var, (void *)(uintptr_t)(item->index + 1));
        return TN_WALK_SKIP;
    }
    const uintptr_t at = tn_is_var(n) ? (uintptr_t)tnb_ptrmap_get(&r->items, n) : 0;
    if (at)
        r->read[at - 1] = true;
    return TN_WALK_ON;
}

/* The list, where it says of weights that were to be transformed whether nothing reads them any more. */
static tn_list
with_unused(rewriting *w, const tn_node *const *funcs, uint32_t n)
{
    readings r = {.n = w->list.n, .read = TNB_NEW_N(tn_scratch(w->ctx), bool, w->list.n)};
    tn_list out = w->list;
    tnb_ptrmap_init(&r.items, tn_scratch(w->ctx));
    memset(r.read, 0, w->list.n * sizeof *r.read);
    for (uint32_t i = 0; i < n; i++)
        if (tn_is(funcs[i], TN_KIND_FUNCTION))
            (void)tn_walk(funcs[i], 0, find_readings, NULL, &r);
    for (uint32_t i = 0; i < w->list.n; i++)
        if (!r.read[i] && tn_dict_get(w->list.at[i], "transform"))
            tn_list_change(w->ctx, &out, w->list, i,
                           tn_dict_set(w->ctx, w->list.at[i], "unused", tn_bool(w->ctx, true)));
    return out;
}

/* The metadata's list of weights, where functions have a parameter of so many fields. */
static void
find_packed(rewriting *w, const tn_module *m)
{
    const tn_array *list = tn_as_array(tn_dict_get(tn_dict_get(m->attrs, "params"), "list"));
    for (uint32_t i = 0; list && i < m->funcs.n && !w->packed; i++) {
        const tn_function *f = tn_as_function(m->funcs.at[i]);
        for (uint32_t k = 0; f && k < f->params.n; k++) {
            const tn_type *t = ((const tn_expr *)f->params.at[k])->type;
            const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
            if (tuple && tuple->fields.n == list->items.n) {
                w->packed = t;
                w->fields = tuple->fields;
                w->list = list->items;
            }
        }
    }
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    tn_ctx *ctx = pc->ctx;
    rewriting w = {.ctx = ctx, .lanes = cpu_vector_bytes(ctx, pc->target) / 4};
    const char *kept =
        pc->target ? tn_dict_str(pc->target->attrs, "block_activations", "int8") : "";
    if (strcmp(kept, "int8") != 0)
        return m;
    tnb_strmap_init(&w.programs, tn_scratch(ctx));
    tnb_strmap_init(&w.places, tn_scratch(ctx));
    tnb_ptrmap_init(&w.values, tn_scratch(ctx));
    find_packed(&w, m);
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
    if (!out || !w.packed)
        return out;
    const tn_node *params = tn_dict_get(m->attrs, "params");
    params =
        tn_dict_set(ctx, params, "list", tn_array_of(ctx, with_unused(&w, changed, m->funcs.n)));
    return tn_module_with_attrs(ctx, out, tn_dict_set(ctx, m->attrs, "params", params));
}

const tn_pass cpu_block_products = {
    .base.size = sizeof(tn_pass),
    .base.name = "BlockProducts",
    .base.doc =
        "products with weights in GGUF's blocks by integer dot products, with activations in "
        "int8 where the target's block_activations says so",
    .keeps = TN_KEEPS_INT8,
    .run = run,
    .needs = "op",
};
