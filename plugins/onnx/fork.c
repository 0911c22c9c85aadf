/* SPDX-License-Identifier: Apache-2.0 */
/* Branches of If that give values of other ranks or element types (torch.squeeze is exported so).
 *
 * What follows such an If differs, so the rest of the model is imported for each branch in turn. If
 * only one of the two makes sense, the program is made for that one and stops where the other is
 * taken. If both do, and the condition is a term over the extents of the inputs, the program holds
 * both and decides at its begin:
 *
 *     def main(x: R.Tensor((n, 3))):
 *         if n == 1:
 *             r = main_1(x)             the graph with the first branch taken
 *         else:
 *             r = main_2(x)             with the second
 *         return r
 *
 * Within such a function the condition is still checked, so that each choice holds on its own.
 */
#include "subgraph.h"

#include "tenon/core/walk.h"

enum { MAX_VERSIONS = 64 };

typedef struct forks {
    onnx_import *imp;
    const tn_module *module; /* with the functions made so far */
    onnx_names *names;
    uint32_t functions, versions; /* made so far: functions, and those that hold the whole model */
    bool too_many;                /* versions were wanted */
} forks;

/* The import as it begins, with nothing of what another attempt found. */
static void
begin_attempt(forks *f, const char *choices)
{
    onnx_import *imp = f->imp;
    imp->b = tn_builder_new(imp->ctx, f->module);
    imp->scope = NULL;
    imp->choices = choices;
    imp->n_choices = imp->n_decided = imp->n_nodes = 0;
    imp->at_fork = false;
    imp->dim_names = imp->shapeless = NULL;
    tnb_strmap_init(&imp->dims, imp->arena);
    tnb_ptrmap_init(&imp->rolled, imp->arena);
}

static const char *
why_not(const onnx_import *imp, uint32_t before)
{
    const char *s = onnx_first_error(imp, before, NULL);
    return s ? s : "it cannot be imported";
}

static const tn_type *
joined_tensor(tn_ctx *ctx, const tn_type *a, const tn_type *b)
{
    if (tn_type_equal(ctx, a, b))
        return a;
    tnb_dtype d = tn_type_dtype(a);
    bool same_rank = tn_type_ndim(a) == tn_type_ndim(b);
    return tn_ty_tensor_of(ctx, NULL, tnb_dtype_eq(d, tn_type_dtype(b)) ? d : TNB_VOID,
                           same_rank ? (int32_t)tn_type_ndim(a) : -1, NULL);
}

static const tn_type *
joined(tn_ctx *ctx, const tn_type *a, const tn_type *b)
{
    const tn_ty_tuple *x = tn_as_ty_tuple(a), *y = tn_as_ty_tuple(b);
    tn_list fields = {0};
    for (uint32_t i = 0; x && y && i < x->fields.n && i < y->fields.n; i++)
        fields = tn_list_append(ctx, fields, joined_tensor(ctx, x->fields.at[i], y->fields.at[i]));
    return x && y ? tn_ty_tuple_of(ctx, fields) : joined_tensor(ctx, a, b);
}

/* A branch that calls a function. */
static const tn_expr *
calling(tn_builder *b, const char *name, tn_list params, const tn_type **type)
{
    tn_ctx *ctx = tn_builder_ctx(b);
    const tn_node *func = tn_builder_find_function(b, name);
    *type = tn_call_result_type(ctx, tn_func_type(ctx, func), ((const tn_function *)func)->params,
                                params);
    tn_builder_begin_function(b, (tn_list){0});
    tn_builder_begin_block(b, false);
    const tn_expr *r =
        tn_emit(b, tn_call_of(ctx, tn_global_var_of(ctx, name), params, NULL, (tn_list){0}, *type),
                "r");
    tn_builder_end_block(b);
    const tn_expr *f = tn_builder_end_function(b, r, NULL, true, NULL);
    return tn_is_error(f) ? f : tn_as_function(f)->body;
}

/* Function `name` calls `a` where the condition holds and else `b`. False, and nothing recorded: the
 * condition is not a term over the extents of inputs. */
static bool
make_dispatch(forks *f, const char *name, const tn_expr *cond, const tnb_strmap *dims,
              const char *a, const char *b)
{
    onnx_import *imp = f->imp;
    tn_ctx *ctx = imp->ctx;
    tn_list params = {0};
    onnx_names names = {{0}};
    onnx_scope scope = {0};
    tnb_ptrmap map;
    begin_attempt(f, "");
    onnx_scope_push(imp, &scope);
    bool ok = cond && onnx_import_parameters(imp, &params, &names);
    onnx_scope_pop(imp);
    tnb_ptrmap_init(&map, imp->arena);
    for (uint32_t i = 0; ok && i < dims->n; i++)
        tnb_ptrmap_set(&map, dims->at[i].value, tnb_strmap_get(&imp->dims, dims->at[i].key));
    tn_list used = ok ? tn_free_vars(ctx, cond, false) : (tn_list){0};
    for (uint32_t i = 0; i < used.n; i++)
        ok &= tnb_ptrmap_has(&map, used.at[i]);
    if (!ok)
        return false;
    const tn_type *ta, *tb;
    cond = tn_subst(ctx, cond, &map);
    if (!tnb_dtype_is_bool(tn_dtype_of(cond)))
        cond = tn_ne_of(ctx, cond, tn_i64(ctx, 0));
    tn_builder_begin_function(imp->b, params);
    const tn_expr *then_seq = calling(imp->b, a, params, &ta),
                  *else_seq = calling(imp->b, b, params, &tb);
    tn_builder_begin_block(imp->b, false);
    const tn_expr *r = tn_emit(imp->b, tn_if_expr_of(ctx, cond, then_seq, else_seq), "result");
    tn_builder_end_block(imp->b);
    const tn_expr *made = tn_builder_end_function(imp->b, r, NULL, true, NULL);
    if (tn_is_error(made))
        return false;
    made = tn_function_of(ctx, params, tn_as_function(made)->body, joined(ctx, ta, tb), true, NULL);
    return !tn_is_error(tn_builder_add_function(imp->b, made, name));
}

static const char *
choose(forks *f, const char *choices);

/* How to make the condition known that is computed from these inputs (NULL: from none). */
static void
hint_at_condition(forks *f, const tn_node *inputs)
{
    tnb_diags *d = tn_diags(f->imp->ctx);
    if (!inputs) {
        tnb_diag_hint(d, "make the condition known at compile time");
        return;
    }
    const char *input = tn_as_pair(tn_as_dict(inputs)->items.at[0])->key;
    f->imp->must_bind = inputs;
    tnb_diag_hint(d, "give the value of input '%s' at compile time: --bind %s=FILE", input, input);
}

/* The model is not made for more combinations of branches than this. */
static void
report_too_many(forks *f, uint32_t before)
{
    onnx_import *imp = f->imp;
    tnb_diags *d = tn_diags(imp->ctx);
    const char *types = why_not(imp, before);
    tnb_place place = {.file = imp->model->file, .node = imp->fork_text};
    f->too_many = true;
    tnb_diags_cut(d, before);
    tnb_report(d, TNB_ERROR, TNB_BOUNDS, place,
               "the branches give values of other ranks or types, so that the rest of the model is "
               "made for each combination "
               "of such branches; there are more than %d",
               MAX_VERSIONS);
    tnb_diag_note(d, "%s", types);
    if (imp->fork_cond)
        tnb_diag_hint(d, "make the conditions known at compile time: fix the dimensions that they "
                         "depend on (--dim NAME=VALUE)");
    else
        hint_at_condition(f, imp->fork_inputs);
}

/* The first error recorded behind `before`; its texts stay where the diagnostics are cut. */
static tnb_diag
first_error(const tnb_diags *d, uint32_t before)
{
    uint32_t i = before, n = tnb_diags_count(d);
    while (i < n && tnb_diags_get(d, i)->severity != TNB_ERROR)
        i++;
    return i < n ? *tnb_diags_get(d, i) : (tnb_diag){0};
}

static void
report_again(tnb_diags *d, const tnb_diag *e)
{
    tnb_report(d, e->severity, e->status, e->place, "%s", e->message);
    for (uint32_t i = 0; i < e->n_notes; i++)
        tnb_diag_note(d, "%s", e->notes[i]);
    if (e->hint)
        tnb_diag_hint(d, "%s", e->hint);
}

/* Neither branch can be compiled; recorded since `before` is what is wrong with the else branch. What
 * the reader can do something about counts: a branch that wants what is not known goes before one
 * that fits nothing. */
static void
report_neither(tnb_diags *d, uint32_t before, const tnb_diag error[2], const char *const why[2],
               const char *types)
{
    bool wants = error[0].status == TNB_UNSUPPORTED && error[1].status != TNB_UNSUPPORTED;
    if (wants) {
        tnb_diags_cut(d, before);
        report_again(d, &error[0]);
    }
    tnb_diag_note(d, "%s", types);
    tnb_diag_note(d, "with the %s branch: %s", wants ? "else" : "then", why[wants]);
}

/* The rest of the model for both branches of the If that the last attempt came to. */
static const char *
choose_both(forks *f, const char *choices, uint32_t before)
{
    onnx_import *imp = f->imp;
    tnb_diags *d = tn_diags(imp->ctx);
    const tn_expr *cond = imp->fork_cond;
    const char *text = imp->fork_text, *types = why_not(imp, before), *why[2], *made[2] = {NULL};
    const tnb_strmap dims = imp->dims;
    const tn_node *bound = imp->must_bind, *bound_by[2], *inputs = imp->fork_inputs;
    tnb_diag error[2];
    tnb_diags_cut(d, before);
    for (int k = 0; k < 2 && !f->too_many; k++) {
        uint32_t from = tnb_diags_count(d);
        imp->must_bind = bound;
        made[k] = choose(f, tn_strf(imp->ctx, "%s%c", choices, "te"[k]));
        why[k] = made[k] ? NULL : why_not(imp, from);
        error[k] = first_error(d, from);
        bound_by[k] = imp->must_bind;
        if (!made[k] && !f->too_many &&
            !(k && !made[0])) /* the last one's errors stay if neither is made */
            tnb_diags_cut(d, from);
    }
    if (f->too_many)
        return NULL;
    if (!made[0] && !made[1]) {
        report_neither(d, before, error, why, types);
        imp->must_bind = bound_by[0] != bound ? bound_by[0] : bound_by[1];
        return NULL;
    }
    imp->must_bind = bound;
    tnb_place place = {.file = imp->model->file, .node = text};
    for (int k = 0; k < 2; k++)
        if (!made[k]) {
            tnb_report(d, TNB_WARNING, TNB_UNSUPPORTED, place,
                       "the program stops where the %s branch is taken: the rest of the model does "
                       "not fit its results",
                       k ? "else" : "then");
            tnb_diag_note(d, "%s", types);
            tnb_diag_note(d, "%s", why[k]);
            return made[!k];
        }
    const char *name = tn_strf(imp->ctx, "main_%u", ++f->functions);
    if (make_dispatch(f, name, cond, &dims, made[0], made[1])) {
        f->module = tn_builder_module(imp->b);
        return name;
    }
    tnb_report(d, TNB_ERROR, TNB_UNSUPPORTED, place,
               "the branches give values of other ranks or types, and the rest of the model fits "
               "both");
    tnb_diag_note(d, "%s", types);
    hint_at_condition(f, inputs);
    return NULL;
}

/* The name of a function with these choices, and those behind them; NULL after an error. */
static const char *
choose(forks *f, const char *choices)
{
    onnx_import *imp = f->imp;
    uint32_t before = tnb_diags_count(tn_diags(imp->ctx));
    const char *name = tn_strf(imp->ctx, "main_%u", ++f->functions);
    onnx_names names;
    begin_attempt(f, choices);
    if (onnx_import_graph(imp, name, &names)) {
        f->versions++;
        *f->names = names;
        f->module = tn_builder_module(imp->b);
        return name;
    }
    if (!imp->at_fork) {
        f->versions++;
        return NULL;
    }
    if (f->versions < MAX_VERSIONS && strlen(choices) < MAX_VERSIONS)
        return choose_both(f, choices, before);
    report_too_many(f, before);
    return NULL;
}

const tn_module *
onnx_import_choosing(onnx_import *imp, onnx_names *names)
{
    tn_ctx *ctx = imp->ctx;
    forks f = {.imp = imp, .names = names};
    const char *name = choose(&f, "");
    if (!name)
        return NULL;
    const tn_function *main = tn_as_function(tn_module_get(f.module, name));
    const tn_node *attrs = tn_dict_set(ctx, main->attrs, "global_symbol", tn_string(ctx, "main"));
    attrs = tn_dict_set(ctx, attrs, "num_input", tn_i64(ctx, main->params.n));
    const tn_node *renamed =
        tn_function_of(ctx, main->params, main->body, main->ret, main->pure, attrs);
    const tn_module *m = tn_module_set(ctx, f.module, name, NULL);
    return onnx_used_functions(ctx, tn_module_set(ctx, m, "main", renamed), "main");
}
