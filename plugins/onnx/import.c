/* SPDX-License-Identifier: Apache-2.0 */
/* The importer's entry: a model's inputs become parameters, its nodes a dataflow block, its outputs
 * the result. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "import.h"
#include "onnx.h"
#include "tenon/base/conf.h"
#include "tenon/base/num.h"

enum { MIN_OPSET = 1, MAX_OPSET = 28 };

/* ---- errors ---- */

bool
onnx_fail(onnx_node *n, tnb_status status, const char *fmt, ...)
{
    va_list ap;
    n->failed = true;
    va_start(ap, fmt);
    tnb_reportv(tn_diags(n->ctx), TNB_ERROR, status,
                (tnb_place){.file = n->imp->model->file, .node = n->text}, fmt, ap);
    va_end(ap);
    return false;
}

void
onnx_hint_dims(onnx_node *n)
{
    if (n->imp->shapeless)
        onnx_hint(n, "the model says nothing of the extents of input '%s': --dim %s=[N, ...]",
                  n->imp->shapeless, n->imp->shapeless);
    else if (n->imp->dim_names)
        onnx_hint(n,
                  "fix the dynamic dimension that it depends on: --dim NAME=VALUE, with one of %s",
                  n->imp->dim_names);
}

bool
onnx_unknown(onnx_node *n, const char *what)
{
    onnx_fail(n, TNB_UNSUPPORTED, "%s to be known when the model is compiled", what);
    onnx_hint_dims(n);
    return false;
}

void
onnx_note(onnx_node *n, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    tnb_diag_note(tn_diags(n->ctx), "%s", text);
}

void
onnx_hint(onnx_node *n, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    tnb_diag_hint(tn_diags(n->ctx), "%s", text);
}

static bool
fail(onnx_import *imp, tnb_status status, const char *fmt, ...) TNB_PRINTF(3, 4);

static bool
fail(onnx_import *imp, tnb_status status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tnb_reportv(tn_diags(imp->ctx), TNB_ERROR, status, (tnb_place){.file = imp->model->file}, fmt,
                ap);
    va_end(ap);
    return false;
}

/* ---- what the model needs ---- */

static bool
find_opset(onnx_import *imp)
{
    const Onnx__ModelProto *m = imp->model->proto;
    imp->opset = 1; /* files of the first format version name none */
    bool found = m->n_opset_import == 0;
    for (size_t i = 0; i < m->n_opset_import; i++)
        if (onnx_is_default_domain(m->opset_import[i]->domain)) {
            imp->opset = m->opset_import[i]->version;
            found = true;
        }
    if (!found)
        imp->opset = MAX_OPSET; /* only other domains are used */
    if (imp->opset < MIN_OPSET || imp->opset > MAX_OPSET) {
        fail(imp, TNB_UNSUPPORTED, "the model uses opset %" PRId64 ", known are %d to %d",
             imp->opset, MIN_OPSET, MAX_OPSET);
        tnb_diag_hint(tn_diags(imp->ctx), "export the model with opset %d", MAX_OPSET);
        return false;
    }
    return true;
}

static void
find_functions(onnx_import *imp)
{
    const Onnx__ModelProto *m = imp->model->proto;
    for (size_t i = 0; i < m->n_functions; i++) {
        const Onnx__FunctionProto *f = m->functions[i];
        tnb_strmap_set(&imp->functions, onnx_function_key(imp, f->domain, f->name, f->overload), f);
    }
}

/* What no row and no function serves, and the functions that were searched. */
typedef struct missing {
    onnx_import *imp;
    tnb_strmap found;
    tnb_ptrmap searched;
} missing;

/* Searches nodes, the functions that they call, and sub-graphs (their nesting is bounded). Not so
 * the branches of If: one that is never taken may hold anything. */
static void
find_missing(missing *m, Onnx__NodeProto *const *nodes, size_t n, int64_t opset, int depth)
{
    onnx_import *imp = m->imp;
    for (size_t i = 0; i < n; i++) {
        const Onnx__NodeProto *p = nodes[i];
        const char *op = p->op_type ? p->op_type : "";
        const Onnx__FunctionProto *f = onnx_find_function(imp, p);
        bool standard = onnx_is_default_domain(p->domain), other = false;
        if (f && depth < ONNX_MAX_FUNCTION_DEPTH && !tnb_ptrmap_has(&m->searched, f)) {
            tnb_ptrmap_set(&m->searched, f, m);
            find_missing(m, f->node, f->n_node, onnx_function_opset(imp, f), depth + 1);
        } else if (!f && !onnx_find_op(p->domain, op, opset, &other)) {
            const char *text = tn_strf(imp->ctx, "operator '%s', domain '%s', opset %" PRId64 "%s",
                                       op, standard ? "ai.onnx" : p->domain, opset,
                                       other ? " (it exists in other versions only)" : "");
            if (!tnb_strmap_has(&m->found, text))
                tnb_strmap_set(&m->found, text, p);
        }
        bool chooses = !f && standard && strcmp(op, "If") == 0;
        for (size_t k = 0; k < p->n_attribute && !chooses; k++)
            if (p->attribute[k]->g)
                find_missing(m, p->attribute[k]->g->node, p->attribute[k]->g->n_node, opset, depth);
    }
}

static bool
all_supported(onnx_import *imp)
{
    const Onnx__GraphProto *g = imp->model->proto->graph;
    missing m = {.imp = imp};
    tnb_strmap_init(&m.found, imp->arena);
    tnb_ptrmap_init(&m.searched, imp->arena);
    find_missing(&m, g->node, g->n_node, imp->opset, 0);
    if (!m.found.n)
        return true;
    const Onnx__NodeProto *first = m.found.at[0].value;
    const char *where = first->name && first->name[0] ? first->name
                        : first->n_output             ? first->output[0]
                                                      : "";
    tnb_report(tn_diags(imp->ctx), TNB_ERROR, TNB_UNSUPPORTED,
               (tnb_place){.file = imp->model->file,
                           .node = tn_strf(imp->ctx, "node '%s' (%s)", where,
                                           first->op_type ? first->op_type : "")},
               "unsupported %s", m.found.at[0].key);
    for (uint32_t i = 1; i < m.found.n; i++)
        tnb_diag_note(tn_diags(imp->ctx), "also unsupported: %s", m.found.at[i].key);
    for (uint32_t i = 0; i < m.found.n; i++) {
        const Onnx__NodeProto *p = m.found.at[i].value;
        if (p->domain && strncmp(p->domain, "com.microsoft", 13) == 0) {
            tnb_diag_hint(
                tn_diags(imp->ctx),
                "com.microsoft has ONNX Runtime's own operators: export the model without "
                "its optimizer, and quantize it in the format QDQ");
            return false;
        }
        if (p->domain && strcmp(p->domain, "ai.onnx.ml") == 0) {
            tnb_diag_hint(tn_diags(imp->ctx),
                          "trees, support vectors and texts are not compiled; linear models, "
                          "scalers and normalizers become standard operators with "
                          "skl2onnx.to_onnx(..., options={'zipmap': False}, black_op="
                          "{'LinearClassifier', 'LinearRegressor', 'Normalizer', 'Scaler'})");
            return false;
        }
    }
    tnb_diag_hint(tn_diags(imp->ctx), "docs/onnx.md lists the operators that there are, and why "
                                      "others are not");
    return false;
}

/* ---- parameters ---- */

/* A name that TVMScript can print as an identifier. */
static const char *
identifier(onnx_import *imp, const char *name)
{
    char *s = tnb_printf(imp->arena, "%s%s",
                         (name[0] >= '0' && name[0] <= '9') || !name[0] ? "x" : "", name);
    for (char *p = s; *p; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9')))
            *p = '_';
    return tn_str(imp->ctx, s);
}

static const tn_expr *
named_dim(onnx_import *imp, const char *name)
{
    const tn_expr *e = tnb_strmap_get(&imp->dims, name);
    if (!e) {
        const tn_node *given = imp->opt ? tn_dict_get(imp->opt->dims, name) : NULL;
        int64_t v;
        e = tn_int_value(given, &v) ? tn_i64(imp->ctx, v)
                                    : tn_var_dtype(imp->ctx, identifier(imp, name), TNB_I64);
        tnb_strmap_set(&imp->dims, name, e);
        imp->dim_names = imp->dim_names ? tn_strf(imp->ctx, "%s, '%s'", imp->dim_names, name)
                                        : tn_strf(imp->ctx, "'%s'", name);
    }
    return e;
}

/* Some exporters call every unknown extent "?". */
static bool
names_something(const char *dim)
{
    for (; dim && *dim; dim++)
        if (*dim != '?' && *dim != ' ' && *dim != '-')
            return true;
    return false;
}

/* The type of a graph input; NULL after an error. */
static const tn_type *
input_type(onnx_import *imp, const Onnx__ValueInfoProto *info)
{
    const Onnx__TypeProto *t = info->type;
    if (!t || t->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !t->tensor_type) {
        fail(imp, TNB_UNSUPPORTED,
             "input '%s' is not a tensor: sequences, maps and optional values are not supported",
             info->name);
        return NULL;
    }
    tnb_dtype d = tnb_onnx_dtype(t->tensor_type->elem_type);
    if (!d.bits) {
        fail(imp, TNB_UNSUPPORTED, "input '%s' has element type %s, which is not supported",
             info->name, tnb_onnx_type_name(t->tensor_type->elem_type));
        return NULL;
    }
    const Onnx__TensorShapeProto *shape = t->tensor_type->shape;
    const tn_array *given = tn_as_array(imp->opt ? tn_dict_get(imp->opt->dims, info->name) : NULL);
    if (!shape && !given)
        return tn_ty_tensor_of(imp->ctx, NULL, d, -1, NULL);
    size_t declared = shape ? shape->n_dim : 0, n = given ? given->items.n : declared;
    if (n > ONNX_MAX_DIMS) {
        fail(imp, TNB_UNSUPPORTED, "input '%s' has %zu dimensions, at most %d are supported",
             info->name, n, ONNX_MAX_DIMS);
        return NULL;
    }
    if (given && shape && given->items.n != declared)
        tnb_report(
            tn_diags(imp->ctx), TNB_WARNING, TNB_SHAPE, (tnb_place){.file = imp->model->file},
            "input '%s' is declared with rank %zu, but %u extents were given for it: these hold",
            info->name, shape->n_dim, given->items.n);
    const tn_node *dims[ONNX_MAX_DIMS];
    int64_t known[ONNX_MAX_DIMS];
    uint64_t count;
    for (size_t i = 0; i < n; i++) {
        bool is_declared = shape && n == declared;
        const Onnx__TensorShapeProto__Dimension *dim = is_declared ? shape->dim[i] : NULL;
        int64_t want;
        if (given && is_declared && tn_int_value(given->items.at[i], &want) &&
            dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
            dim->dim_value >= 0 && dim->dim_value != want) {
            fail(imp, TNB_SHAPE,
                 "extent %zu of input '%s' is declared as %" PRId64 ", but given as %" PRId64, i,
                 info->name, dim->dim_value, want);
            tnb_diag_hint(tn_diags(imp->ctx),
                          "give the extents of dynamic dimensions only; tenon show model tells "
                          "which these are");
            return NULL;
        }
        if (given)
            dims[i] = given->items.at[i];
        else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
                 dim->dim_value >= 0)
            dims[i] = tn_i64(imp->ctx, dim->dim_value);
        else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
                 names_something(dim->dim_param))
            dims[i] = named_dim(imp, dim->dim_param);
        else
            dims[i] = named_dim(imp, tn_strf(imp->ctx, "%s_d%zu", info->name, i));
        if (!tn_int_value(dims[i], &known[i]))
            known[i] = 1;
    }
    if (!tnb_shape_count((int32_t)n, known, &count)) {
        fail(imp, TNB_SHAPE,
             "input '%s' has extents that no tensor can have: more than %" PRId64
             " elements do not fit the address space",
             info->name, TNB_MAX_ELEMS);
        return NULL;
    }
    return tn_ty_tensor_dims(imp->ctx, tn_list_of(imp->ctx, dims, (uint32_t)n), d);
}

/* The value bound to input `index` at compile time, or NULL. */
static const tn_expr *
bound_value(onnx_import *imp, const char *name, uint32_t index)
{
    if (!imp->opt || !imp->opt->inputs)
        return NULL;
    const tn_node *v = tn_dict_get(imp->opt->inputs, name);
    return v ? v : tn_dict_get(imp->opt->inputs, tn_strf(imp->ctx, "#%u", index));
}

/* Extents that were given for what the model does not have are mistakes. */
static bool
know_given_dims(onnx_import *imp, const Onnx__GraphProto *g)
{
    const tn_dict *given = tn_as_dict(imp->opt ? imp->opt->dims : NULL);
    for (uint32_t i = 0; given && i < given->items.n; i++) {
        const char *key = ((const tn_pair *)given->items.at[i])->key;
        const bool whole = tn_as_array(((const tn_pair *)given->items.at[i])->value) != NULL;
        bool is_dim = tnb_strmap_has(&imp->dims, key), is_input = false;
        for (size_t k = 0; k < g->n_input && !is_input; k++)
            is_input = strcmp(g->input[k]->name, key) == 0;
        if (whole ? is_input : is_dim)
            continue;
        if (is_dim || is_input) {
            fail(imp, TNB_INVALID,
                 whole ? "the dynamic dimension '%s' has one extent, and several were given"
                       : "input '%s' has one extent a dimension, and a single one was given",
                 key);
            tnb_diag_hint(tn_diags(imp->ctx),
                          whole ? "give it as %s=N" : "give them as %s=[N, ...]", key);
            return false;
        }
        fail(imp, TNB_NOT_FOUND, "the model has no dynamic dimension and no input '%s'", key);
        if (imp->dim_names)
            tnb_diag_hint(tn_diags(imp->ctx), "its dynamic dimensions: %s", imp->dim_names);
        else
            tnb_diag_hint(tn_diags(imp->ctx),
                          "leave --dim out: all extents of its inputs are fixed");
        return false;
    }
    return true;
}

/* So are values that were given for inputs which it does not have. `names`: of its inputs. */
static bool
know_given_inputs(onnx_import *imp, const char *const *names, uint32_t n)
{
    const tn_dict *given = tn_as_dict(imp->opt ? imp->opt->inputs : NULL);
    for (uint32_t i = 0; given && i < given->items.n; i++) {
        const char *key = ((const tn_pair *)given->items.at[i])->key, *list = "";
        int64_t index;
        bool known = key[0] == '#' && tnb_read_i64(key + 1, strlen(key + 1), &index) &&
                     index >= 0 && index < (int64_t)n;
        for (uint32_t k = 0; k < n && !known; k++)
            known = strcmp(names[k], key) == 0;
        if (known)
            continue;
        fail(imp, TNB_NOT_FOUND, "a value is bound to '%s', but the model has no such input", key);
        const char *near = tnb_nearest(key, names, n);
        for (uint32_t k = 0; k < n && k < 20; k++)
            list = tn_strf(imp->ctx, "%s%s'%s'", list, k ? ", " : "", names[k]);
        tnb_diag_hint(tn_diags(imp->ctx), "%s%s%s%s%s", near ? "did you mean '" : "",
                      near ? near : "", near ? "'? " : "", n ? "its inputs: " : "it has no inputs",
                      list);
        return false;
    }
    return true;
}

/* Rank and fixed extents. */
static bool
has_declared_shape(const tn_expr *value, const tn_type *declared)
{
    tn_list want, have;
    int64_t x = 0, y = 0;
    if (!tn_type_dims(declared, &want) || !tn_type_dims(value->type, &have))
        return true;
    bool same = want.n == have.n;
    for (uint32_t i = 0; same && i < want.n; i++)
        same = !tn_int_value(want.at[i], &x) || !tn_int_value(have.at[i], &y) || x == y;
    return same;
}

static bool
import_inputs(onnx_import *imp, const Onnx__GraphProto *g, tn_list *params, tn_list *names)
{
    uint32_t index = 0;
    const char **given = TNB_NEW_N(imp->arena, const char *, g->n_input + 1);
    for (size_t i = 0; i < g->n_input; i++) {
        const Onnx__ValueInfoProto *info = g->input[i];
        if (!info->name || !info->name[0])
            return fail(imp, TNB_FORMAT, "input %zu of the graph has no name", i);
        onnx_value *old = tnb_strmap_get(&imp->scope->values, info->name);
        if (old && old->init)
            continue; /* an initializer: not given at run time */
        if (old)
            return fail(imp, TNB_FORMAT, "the graph has two inputs named '%s'", info->name);
        onnx_value *v = onnx_value_new(imp, info->name);
        tnb_strmap_set(&imp->scope->values, info->name, v);
        const tn_type *t = input_type(imp, info);
        if (!t)
            return false;
        v->place = index;
        given[index] = info->name;
        v->expr = bound_value(imp, info->name, index++);
        if (v->expr) {
            if (!tn_is(v->expr, TN_KIND_CONSTANT) ||
                !tnb_dtype_eq(onnx_dtype(v->expr), tn_type_dtype(t)))
                return fail(imp, TNB_TYPE,
                            "the value bound to input '%s' has dtype %s, the model wants %s",
                            info->name, tnb_dtype_print(onnx_dtype(v->expr)).s,
                            tnb_dtype_print(tn_type_dtype(t)).s);
            if (!has_declared_shape(v->expr, t))
                return fail(imp, TNB_SHAPE,
                            "the value bound to input '%s' is %s; the model needs %s", info->name,
                            onnx_type_text(imp, v->expr->type), onnx_type_text(imp, t));
            continue;
        }
        if (tn_type_ndim(t) < 0)
            imp->shapeless = info->name;
        v->run_time_input = v->name;
        v->expr = tn_var_new(imp->ctx, identifier(imp, info->name), t);
        *params = tn_list_append(imp->ctx, *params, v->expr);
        *names = tn_list_append(imp->ctx, *names, tn_string(imp->ctx, info->name));
    }
    return know_given_dims(imp, g) && know_given_inputs(imp, given, index);
}

/* ---- results ---- */

/* The declared shape may be wrong: what was inferred holds, with a warning. */
static void
compare_declared(onnx_import *imp, const Onnx__ValueInfoProto *info, const tn_expr *e)
{
    tn_list dims;
    const Onnx__TypeProto *t = info->type;
    if (!t || t->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !t->tensor_type ||
        !tn_type_dims(e->type, &dims))
        return;
    tnb_dtype d = tnb_onnx_dtype(t->tensor_type->elem_type);
    const Onnx__TensorShapeProto *s = t->tensor_type->shape;
    bool same = !s || s->n_dim == dims.n;
    for (size_t i = 0; s && i < s->n_dim && same; i++) {
        int64_t v;
        if (s->dim[i]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
            tn_int_value(dims.at[i], &v))
            same = v == s->dim[i]->dim_value;
    }
    if (!same || (d.bits && !tnb_dtype_eq(d, tn_type_dtype(e->type))))
        tnb_report(tn_diags(imp->ctx), TNB_WARNING, TNB_SHAPE,
                   (tnb_place){.file = imp->model->file},
                   "output '%s' is declared as %s, and the graph computes %s", info->name,
                   onnx_declared_text(imp, t->tensor_type), onnx_type_text(imp, e->type));
}

static bool
import_outputs(onnx_import *imp, const Onnx__GraphProto *g, tn_list *results, tn_list *names)
{
    onnx_node n = {.imp = imp, .ctx = imp->ctx, .op = "", .text = NULL};
    if (!g->n_output)
        return fail(imp, TNB_FORMAT, "the graph has no outputs");
    for (size_t i = 0; i < g->n_output; i++) {
        const char *name = g->output[i]->name ? g->output[i]->name : "";
        onnx_value *v = tnb_strmap_get(&imp->scope->values, name);
        if (!v)
            return fail(imp, TNB_NOT_FOUND,
                        "output '%s' of the graph is made by no node, input or initializer", name);
        const tn_expr *e = onnx_value_expr(&n, v);
        if (tn_is_error(e))
            return false;
        compare_declared(imp, g->output[i], e);
        e = tn_emit_output(imp->b, e, "gv");
        if (tn_is_error(e))
            return false;
        *results = tn_list_append(imp->ctx, *results, e);
        *names = tn_list_append(imp->ctx, *names, tn_string(imp->ctx, name));
    }
    return true;
}

/* ---- the function ---- */

bool
onnx_import_parameters(onnx_import *imp, tn_list *params, onnx_names *names)
{
    const Onnx__GraphProto *g = imp->model->proto->graph;
    return onnx_import_initializers(imp, g) && import_inputs(imp, g, params, &names->inputs);
}

bool
onnx_import_graph(onnx_import *imp, const char *name, onnx_names *names)
{
    tn_ctx *ctx = imp->ctx;
    const Onnx__GraphProto *g = imp->model->proto->graph;
    tn_list params = {0}, results = {0};
    onnx_scope scope = {0};
    *names = (onnx_names){{0}};
    onnx_scope_push(imp, &scope);
    if (!onnx_import_parameters(imp, &params, names)) {
        onnx_scope_pop(imp);
        return false;
    }
    tn_builder_begin_function(imp->b, params);
    tn_builder_begin_block(imp->b, true);
    bool ok = onnx_import_nodes_of(imp, g) && import_outputs(imp, g, &results, &names->outputs);
    onnx_scope_pop(imp);
    tn_builder_end_block(imp->b);
    const tn_expr *body = !ok              ? tn_error_node(ctx)
                          : results.n == 1 ? results.at[0]
                                           : tn_tuple_of(ctx, results);
    const tn_expr *f = tn_builder_end_function(imp->b, body, NULL, true, NULL);
    return ok && !tn_is_error(f) && !tn_is_error(tn_builder_add_function(imp->b, f, name));
}

static const tn_module *
import_model(onnx_import *imp)
{
    onnx_names names;
    if (!find_opset(imp))
        return NULL;
    find_functions(imp);
    if (!all_supported(imp))
        return NULL;
    const tn_module *m = onnx_import_choosing(imp, &names);
    if (!m)
        return NULL;
    return tn_module_with_attrs(imp->ctx, m,
                                tn_dictv(imp->ctx, "input_names",
                                         tn_array_of(imp->ctx, names.inputs), "output_names",
                                         tn_array_of(imp->ctx, names.outputs), NULL));
}

tnb_status
onnx_import_file(void *self, tn_ctx *ctx, const char *path, const tnk_import_options *opt,
                 tnk_model *out)
{
    (void)self;
    onnx_model model;
    tn_loc outer = tn_at(ctx, 0);
    onnx_import imp = {.ctx = ctx, .opt = opt, .model = &model, .arena = tnb_arena_new()};
    tnb_err err = {.status = TNB_NO_MEMORY};
    if (!imp.arena) {
        tnb_report(tn_diags(ctx), TNB_ERROR, TNB_NO_MEMORY, (tnb_place){.file = path},
                   "no memory to read the model");
    } else if (onnx_model_open(ctx, path, &model)) {
        tnb_strmap_init(&imp.functions, imp.arena);
        out->module = import_model(&imp);
        out->must_bind = imp.must_bind;
        if (!out->module && !tnb_diags_errors(tn_diags(ctx)))
            fail(&imp, TNB_NO_MEMORY, "no memory to import the model");
        onnx_model_close(&model);
    }
    tnb_arena_free(imp.arena);
    tn_at(ctx, outer);
    if (out->module)
        return TNB_OK;
    tnb_diags_first(tn_diags(ctx), &err);
    return err.status == TNB_OK ? TNB_INTERNAL : err.status;
}
