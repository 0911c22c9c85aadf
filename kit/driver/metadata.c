/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata of an artifact: what its public functions take and give, what its variants need. */
#include "driver_private.h"

#include "config.h"

#include "tenon/core/arith.h"
#include "tenon/core/eval.h"
#include "tenon/core/walk.h"

const char *const *
driver_publics(tn_ctx *ctx, const tn_module *m, uint32_t *n)
{
    TNB_VEC(const char *) names = {0};
    for (int any = 0; any < 2 && !names.n; any++)
        for (uint32_t i = 0; i < m->names.n; i++)
            if (tn_as_function(m->funcs.at[i]) &&
                (any || tn_func_attr(m->funcs.at[i], "global_symbol")))
                TNB_PUSH(tn_arena(ctx), names, tn_module_name(m, i));
    *n = names.n;
    return names.at;
}

/* ---- signatures ---- */

/* What the reader of metadata takes (tenon/base/tno.h). */
static bool
in_limits(tn_ctx *ctx, const char *where, const char *what, uint64_t n, uint64_t most)
{
    if (n <= most)
        return true;
    tn_error(ctx, 0, TNB_BOUNDS, "'%s' has %llu %s; an artifact takes at most %llu", where,
             (unsigned long long)n, what, (unsigned long long)most);
    return false;
}

static const tn_node *
extents(tn_ctx *ctx, tn_list dims)
{
    const tn_node **items = TNB_NEW_N(tn_arena(ctx), const tn_node *, dims.n);
    int64_t x;
    for (uint32_t i = 0; i < dims.n; i++)
        if (tn_int_value(dims.at[i], &x) && x < 0)
            return tn_error(ctx, 0, TNB_INVALID,
                            "a parameter or result of a function that is kept has the extent %lld",
                            (long long)x);
    for (uint32_t i = 0; i < dims.n; i++)
        items[i] = tn_is(dims.at[i], TN_KIND_INT_IMM) ? dims.at[i]
                                                      : tn_string(ctx, tn_text(ctx, dims.at[i]));
    return tn_array_of(ctx, tn_list_of(ctx, items, dims.n));
}

/* One parameter or result. */
static const tn_node *
describe(tn_ctx *ctx, const char *name, const tn_type *t)
{
    tn_list dims;
    const char *kind = tn_is(t, TN_KIND_TY_TENSOR)  ? "tensor"
                       : tn_is(t, TN_KIND_TY_SHAPE) ? "shape"
                       : tn_is(t, TN_KIND_TY_PRIM)  ? "scalar"
                       : tn_is(t, TN_KIND_TY_TUPLE) ? "tuple"
                                                    : "object";
    const tn_node *d =
        tn_dictv(ctx, "name", tn_string(ctx, name), "kind", tn_string(ctx, kind), NULL);
    if (!tn_is(t, TN_KIND_TY_TENSOR) && !tn_is(t, TN_KIND_TY_SHAPE) && !tn_is(t, TN_KIND_TY_PRIM))
        return d;
    if (!tn_is(t, TN_KIND_TY_SHAPE) && !tnb_dtype_is_void(tn_type_dtype(t)))
        d = tn_dict_set(ctx, d, "dtype", tn_string(ctx, tnb_dtype_print(tn_type_dtype(t)).s));
    if (tn_type_dims(t, &dims) && !in_limits(ctx, name, "dimensions", dims.n, TNB_TNO_MAX_DIMS))
        return tn_error_node(ctx);
    if (tn_type_dims(t, &dims))
        d = tn_dict_set(ctx, d, "shape", extents(ctx, dims));
    return d;
}

/* The i-th name that the model gives to its inputs or outputs; only for `main`. */
static const char *
model_name(tn_ctx *ctx, const tn_module *m, const char *func, const char *key, uint32_t i,
           const char *otherwise)
{
    const tn_array *names =
        strcmp(func, "main") == 0 ? tn_as_array(tn_dict_get(m->attrs, key)) : NULL;
    const tn_string_imm *s =
        names && i < names->items.n ? tn_as_string_imm(names->items.at[i]) : NULL;
    return s ? s->value : tn_str(ctx, otherwise);
}

/* The extent that made-up inputs have in a symbolic dimension where the function takes it. */
enum { MADE_UP_EXTENT = 1 };

/* Shapes with which the function can be called, a list for each parameter, as far as its dimensions depend
 * on symbols; NULL: none depends on symbols, or no such shapes were found. */
static const tn_node *
example_shapes(tn_ctx *ctx, const tn_function *f)
{
    tn_list symbols = tn_defined_symbols(ctx, &f->base), shapes = {0};
    const tn_node *wish = tn_dictv(ctx, "", tn_i64(ctx, MADE_UP_EXTENT), NULL);
    tn_ctx *child = symbols.n ? tn_ctx_child(ctx) : NULL; /* its errors are reported elsewhere */
    if (!child)
        return NULL;
    const tn_node *found = tn_find_extents(child, &f->base, wish, NULL);
    found = found ? tn_ctx_splice(ctx, child, found) : NULL;
    tn_ctx_free(child);
    if (!found)
        return NULL;
    tnb_ptrmap values;
    tnb_ptrmap_init(&values, tn_scratch(ctx));
    for (uint32_t i = 0; i < symbols.n; i++)
        tnb_ptrmap_set(&values, symbols.at[i],
                       (void *)(uintptr_t)tn_int_imm_of(
                           ctx, tn_dtype_of(symbols.at[i]),
                           tn_dict_int(found, tn_var_name(symbols.at[i]), MADE_UP_EXTENT)));
    for (uint32_t i = 0; i < f->params.n; i++) {
        tn_list dims, one = {0};
        int64_t x;
        bool known = tn_is(f->params.at[i]->type, TN_KIND_TY_TENSOR) &&
                     tn_type_dims(f->params.at[i]->type, &dims);
        for (uint32_t k = 0; known && k < dims.n; k++) {
            const tn_expr *e = tn_simplify_now(ctx, tn_subst(ctx, dims.at[k], &values));
            if (!tn_int_value(e, &x) || x < 0)
                return NULL;
            one = tn_list_append(ctx, one, tn_i64(ctx, x));
        }
        shapes = tn_list_append(ctx, shapes, tn_array_of(ctx, one));
    }
    return tn_array_of(ctx, shapes);
}

static const tn_node *
signature(tn_ctx *ctx, const tn_module *m, const char *name, const tn_function *f)
{
    tnb_arena *a = tn_arena(ctx);
    const tn_node **params = TNB_NEW_N(a, const tn_node *, f->params.n);
    for (uint32_t i = 0; i < f->params.n; i++)
        params[i] =
            describe(ctx, model_name(ctx, m, name, "input_names", i, tn_var_name(f->params.at[i])),
                     f->params.at[i]->type);
    const tn_type *ret = f->ret ? f->ret : f->body->type;
    const tn_ty_tuple *tuple = tn_as_ty_tuple(ret);
    uint32_t n = tuple ? tuple->fields.n : 1;
    if (!in_limits(ctx, name, "parameters", f->params.n, TNB_TNO_MAX_VALUES) ||
        !in_limits(ctx, name, "results", n, TNB_TNO_MAX_VALUES))
        return tn_error_node(ctx);
    const tn_node **results = TNB_NEW_N(a, const tn_node *, n);
    for (uint32_t i = 0; i < n; i++)
        results[i] =
            describe(ctx, model_name(ctx, m, name, "output_names", i, tn_strf(ctx, "output%u", i)),
                     tuple ? tuple->fields.at[i] : ret);
    int64_t inputs = f->params.n;
    const tn_node *num = tn_func_attr(&f->base, "num_input");
    if (num)
        tn_int_value(num, &inputs);
    const tn_node *d =
        tn_dictv(ctx, "params", tn_array_of(ctx, tn_list_of(ctx, params, f->params.n)), "results",
                 tn_array_of(ctx, tn_list_of(ctx, results, n)), "tuple_result",
                 tn_bool(ctx, tuple != NULL), "num_input", tn_i64(ctx, inputs), NULL);
    const tn_node *shapes = example_shapes(ctx, f);
    return shapes ? tn_dict_set(ctx, d, "examples", shapes) : d;
}

/* ---- variants ---- */

static const tn_node *
target_text(tn_ctx *ctx, const tn_target *t)
{
    const tn_node *d = tn_dict_set(ctx, t->attrs, "kind", tn_string(ctx, t->kind));
    tnb_buf b = {0};
    const tn_node *s =
        tn_value_to_json(d, &b) == TNB_OK && b.s ? tn_string(ctx, b.s) : tn_string(ctx, t->kind);
    tnb_buf_free(&b);
    return s;
}

/* What the device must have: for the code, and for functions that libraries run. */
static const tn_node *
features(tn_ctx *ctx, const struct driver_variant *v)
{
    const tn_array *code = tn_as_array(tn_dict_get(v->code.requires_, "features"));
    const tn_array *mods = tn_as_array(tn_dict_get(v->module->attrs, "external_mods"));
    tn_list all = code ? code->items : (tn_list){0};
    for (uint32_t i = 0; mods && i < mods->items.n; i++) {
        const char *name = tn_dict_str(mods->items.at[i], "feature", NULL);
        bool known = !name;
        for (uint32_t k = 0; k < all.n && !known; k++)
            known = strcmp(tn_as_string_imm(all.at[k])->value, name) == 0;
        if (!known)
            all = tn_list_append(ctx, all, tn_string(ctx, name));
    }
    return tn_array_of(ctx, all);
}

static const tn_node *
variant(tn_ctx *ctx, const struct driver_variant *v)
{
    uint32_t n = tnk_program_packed_count(v->program);
    if (!in_limits(ctx, v->target.name, "packed functions", n, TNB_TNO_MAX_TEXTS))
        return tn_error_node(ctx);
    const tn_node **packed = TNB_NEW_N(tn_arena(ctx), const tn_node *, n);
    for (uint32_t i = 0; i < n; i++)
        packed[i] = tn_string(ctx, tnk_program_packed_name(v->program, i));
    const tn_node *d =
        tn_dictv(ctx, "name", tn_string(ctx, v->target.name), "target",
                 target_text(ctx, v->target.target), "device",
                 tn_string(ctx, driver_device(v->target.kind)), "format",
                 tn_string(ctx, v->code.n_bytes && v->code.format ? v->code.format : ""),
                 "features", features(ctx, v), "packed",
                 tn_array_of(ctx, tn_list_of(ctx, packed, n)), NULL);
    if (v->n_fallback) {
        const tn_node *needs = tn_dict_get(v->fallback_code.requires_, "features");
        d = tn_dict_set(ctx, d, "fallback",
                        tn_dictv(ctx, "device", tn_string(ctx, driver_device(v->fallback.kind)),
                                 "format", tn_string(ctx, v->fallback_code.format), "features",
                                 needs ? needs : tn_array_of(ctx, (tn_list){0}), NULL));
    }
    /* what RunCodegen noted of functions that libraries run */
    const tn_node *external = tn_dict_get(v->module->attrs, "external_mods");
    d = external ? tn_dict_set(ctx, d, "external", external) : d;
    /* what ApplyDefaultSchedule took from a database of measured schedules */
    const tn_node *tuned = tn_dict_get(v->module->attrs, "tenon.tuned");
    return tuned ? tn_dict_set(ctx, d, "tuned", tuned) : d;
}

/* Module attributes that say something to the artifact's user; others stay in the compiler. What
 * passes wrote there counts. */
static const tn_node *
attributes(tn_ctx *ctx, const tn_module *original, const tn_module *finalized)
{
    static const char *const kept[] = {"input_names", "output_names", "metadata", "model_name",
                                       "producer",    "model",        "params"};
    const tn_node *d = tn_dict_of(ctx, NULL, NULL, 0);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const tn_node *v = tn_dict_get(finalized->attrs, kept[i]);
        v = v ? v : tn_dict_get(original->attrs, kept[i]);
        d = v ? tn_dict_set(ctx, d, kept[i], v) : d;
    }
    return d;
}

/* What is done with weight i of the list before kernels read it. */
static const char *
layout_of(tn_ctx *ctx, const tn_array *list, uint32_t i)
{
    const tn_node *d = list && i < list->items.n ? list->items.at[i] : NULL;
    const tn_node *t = d ? tn_dict_get(d, "transform") : NULL;
    if (!t)
        return "as its file has it";
    const int64_t rows = tn_dict_int(t, "rows", 0);
    return rows ? tn_strf(ctx, "%s by %lld", tn_dict_str(t, "kind", ""), (long long)rows)
                : tn_dict_str(t, "kind", "");
}

/* Passes of a target may add weights in a layout of their own (`params`); the artifact has one list of them. */
static bool
agree_on_weights(tn_ctx *ctx, const struct driver_variant *variants, uint32_t n)
{
    const tn_node *first = tn_dict_get(variants[0].module->attrs, "params");
    for (uint32_t i = 1; i < n; i++) {
        const tn_node *other = tn_dict_get(variants[i].module->attrs, "params");
        if (first == other || (first && other && tn_equal(ctx, first, other, false, NULL)))
            continue;
        const tn_array *a = first ? tn_as_array(tn_dict_get(first, "list")) : NULL,
                       *b = other ? tn_as_array(tn_dict_get(other, "list")) : NULL;
        uint32_t k = 0;
        while (a && b && k < a->items.n && k < b->items.n &&
               tn_equal(ctx, a->items.at[k], b->items.at[k], false, NULL))
            k++;
        const tn_node *d = a && k < a->items.n   ? a->items.at[k]
                           : b && k < b->items.n ? b->items.at[k]
                                                 : NULL;
        tn_error(ctx, 0, TNB_UNSUPPORTED,
                 "variants of one artifact need the weights in different layouts");
        if (d)
            tnb_diag_note(tn_diags(ctx), "weight '%s': for %s %s, for %s %s",
                          tn_dict_str(d, "name", ""), variants[0].target.name, layout_of(ctx, a, k),
                          variants[i].target.name, layout_of(ctx, b, k));
        tnb_diag_hint(tn_diags(ctx),
                      "compile an artifact for each target; the layout of the target "
                      "cpu goes with block_activations=int8, that of cuda with panel_rows");
        return false;
    }
    return true;
}

tnb_status
driver_metadata(tn_ctx *ctx, const tn_module *original, const char *const *publics,
                uint32_t n_publics, const struct driver_variant *variants, uint32_t n, tnb_buf *out)
{
    tnb_arena *a = tn_arena(ctx);
    const char **names = TNB_NEW_N(a, const char *, n_publics);
    const tn_node **sigs = TNB_NEW_N(a, const tn_node *, n_publics),
                  **vs = TNB_NEW_N(a, const tn_node *, n);
    uint32_t k = 0;
    if (!agree_on_weights(ctx, variants, n))
        return TNB_UNSUPPORTED;
    for (uint32_t i = 0; i < n_publics; i++) {
        const tn_function *now = tn_as_function(tn_module_get(variants[0].module, publics[i]));
        const tn_function *before = tn_as_function(tn_module_get(original, publics[i]));
        if (!now)
            continue;
        names[k] = publics[i];
        sigs[k++] = signature(ctx, original, publics[i],
                              before && before->params.n == now->params.n ? before : now);
    }
    for (uint32_t i = 0; i < n; i++)
        vs[i] = variant(ctx, &variants[i]);
    const tn_node *root = tn_dictv(ctx, "tenon", tn_string(ctx, PACKAGE_VERSION), "functions",
                                   tn_dict_of(ctx, names, sigs, k), "variants",
                                   tn_array_of(ctx, tn_list_of(ctx, vs, n)), "attrs",
                                   attributes(ctx, original, variants[0].module), NULL);
    return tn_is_error(root) ? TNB_INTERNAL : tn_value_to_json(root, out);
}
