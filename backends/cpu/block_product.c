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
#include "tenon/kit/weights.h"

typedef struct rewriting {
    tn_ctx *ctx;
    int64_t lanes;
    tnk_weights *w;
    tnb_strmap programs;  /* kind, format and extents -> PrimFunc */
    tnb_ptrmap quantized; /* activations -> their forms in this function, one for each format */
    tnb_strmap places;    /* item of packed_params and format -> place of the interleaved one + 1 */
} rewriting;

/* ---- types ---- */

static const tn_type *
with_last(rewriting *w, const cpu_block_extents *e, int64_t last, tnb_dtype d)
{
    return tn_ty_tensor_dims(w->ctx, tn_list_append(w->ctx, e->batch, tn_i64(w->ctx, last)), d);
}

/* How the runtime quantizes the weight of R.quantized_matmul, as numbers; NULL: it does not. */
static const tn_node *
quantization_of(rewriting *w, const tn_expr *words)
{
    const int64_t item = tnk_weights_item(w->w, words);
    const tn_node *t = item < 0 ? NULL : tn_dict_get(w->w->list.at[item], "transform");
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
call_program(rewriting *w, const tn_node *p, const char *name, tn_list args, const tn_type *out)
{
    return tn_is_error(p) ? p : tn_builder_call_tir(w->w->b, p, name, args, out);
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
    const tn_expr *all = call_program(w, program(w, "quantize", cpu_block_quantize, f, &any),
                                      "quantize", tn_list_of(w->ctx, &x, 1),
                                      tn_ty_tuple_of(w->ctx, tn_list_of(w->ctx, types, 3)));
    all = tnk_weights_bind(w->w, all, "quantized");
    quantized *q = TNB_NEW(tn_scratch(w->ctx), quantized);
    q->f = f;
    q->next = first;
    for (int i = 0; i < 3; i++)
        q->parts[i] =
            tn_is_error(all) ? all : tnk_weights_bind(w->w, tn_tuple_item(w->ctx, all, i), "part");
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
    const char *key = place_key(w, i, f);
    if (tnb_strmap_get(&w->places, key))
        return;
    const int64_t shape[] = {e->padded, e->columns / f->elems * f->bytes};
    const int64_t place = tnk_weights_add(w->w, i, shape, 2, TNB_U8, transform_of(w, f, e, of));
    tnb_strmap_set(&w->places, key, (void *)(uintptr_t)(place + 1));
}

/* The weight in panels. */
static const tn_expr *
panels(rewriting *w, const tn_expr *weight, const cpu_block_format *f, const cpu_block_extents *e)
{
    tn_ctx *ctx = w->ctx;
    const int64_t item = tnk_weights_item(w->w, weight);
    const uintptr_t place =
        item >= 0 ? (uintptr_t)tnb_strmap_get(&w->places, place_key(w, item, f)) : 0;
    if (place && w->w->has_packed)
        return tnk_weights_get(w->w, (int64_t)place - 1);
    const tn_expr *dims[] = {tn_i64(ctx, e->padded), tn_i64(ctx, e->columns / f->elems * f->bytes)};
    const tn_expr *made = call_program(w, program(w, "interleave", cpu_block_interleave, f, e),
                                       "interleave", tn_list_of(ctx, &weight, 1),
                                       tn_ty_tensor_dims(ctx, tn_list_of(ctx, dims, 2), TNB_U8));
    return tnk_weights_bind(w->w, made, "panels");
}

/* ---- products ---- */

/* The call of a product that is replaced; NULL: none. */
static const tn_call *
find_product(rewriting *w, const tn_expr *value, const cpu_block_format **f, cpu_block_extents *e)
{
    const tn_call *call = as_product(value);
    return call && read_call(w, call, f, e) ? call : NULL;
}

static bool
find(void *user, tnk_weights *weights, const tn_expr *value)
{
    rewriting *w = user;
    const cpu_block_format *f;
    cpu_block_extents e;
    w->w = weights;
    const tn_call *call = find_product(w, value, &f, &e);
    const int64_t item = call ? tnk_weights_item(weights, call->args.at[1]) : -1;
    if (item >= 0)
        add_interleaved(w, item, f, &e,
                        call->args.n > 2 ? quantization_of(w, call->args.at[1]) : NULL);
    return call != NULL;
}

static const tn_expr *
replace(void *user, tnk_weights *weights, const tn_expr *value)
{
    rewriting *w = user;
    const cpu_block_format *f;
    cpu_block_extents e;
    const tn_call *call = find_product(w, value, &f, &e);
    if (!call || (call->args.n > 2 && !weights->has_packed))
        return NULL;
    const quantized *q = quantize(w, call->args.at[0], f, &e);
    const tn_expr *args[] = {q->parts[0], q->parts[1], q->parts[2],
                             panels(w, call->args.at[1], f, &e)};
    return call_program(w, program(w, "product", cpu_block_multiply, f, &e), "product",
                        tn_list_of(w->ctx, args, 4), call->base.type);
}

static void
begin(void *user)
{
    rewriting *w = user;
    tnb_ptrmap_init(&w->quantized, tn_scratch(w->ctx));
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
    return tnk_weights_rewrite(
        ctx, m, &(tnk_weights_user){.user = &w, .find = find, .replace = replace, .begin = begin});
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
