/* SPDX-License-Identifier: Apache-2.0 */
/* The importer's entry: a model's inputs become parameters, its nodes a dataflow block, its outputs
 * the result. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "import.h"
#include "onnx.h"
#include "subgraph.h"

enum { MIN_OPSET = 1, MAX_OPSET = 26 };

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
        const char *key =
            tn_strf(imp->ctx, "%s:%s", onnx_is_default_domain(f->domain) ? "" : f->domain,
                    f->name ? f->name : "");
        tnb_strmap_set(&imp->functions, key, f);
    }
}

/* Collects what no row and no function serves; sub-graphs included (their nesting is bounded). */
static void
find_unsupported(onnx_import *imp, Onnx__NodeProto *const *nodes, size_t n, int64_t opset,
                 tnb_strmap *found)
{
    for (size_t i = 0; i < n; i++) {
        const Onnx__NodeProto *p = nodes[i];
        const char *op = p->op_type ? p->op_type : "";
        bool standard = onnx_is_default_domain(p->domain), other = false;
        const char *key = tn_strf(imp->ctx, "%s:%s", standard ? "" : p->domain, op);
        if (!tnb_strmap_has(&imp->functions, key) && !onnx_find_op(p->domain, op, opset, &other)) {
            const char *text = tn_strf(imp->ctx, "operator '%s', domain '%s', opset %" PRId64 "%s",
                                       op, standard ? "ai.onnx" : p->domain, opset,
                                       other ? " (it exists in other versions only)" : "");
            if (!tnb_strmap_has(found, text))
                tnb_strmap_set(found, text, p);
        }
        for (size_t k = 0; k < p->n_attribute; k++)
            if (p->attribute[k]->g)
                find_unsupported(imp, p->attribute[k]->g->node, p->attribute[k]->g->n_node, opset,
                                 found);
    }
}

static bool
all_supported(onnx_import *imp)
{
    const Onnx__ModelProto *m = imp->model->proto;
    tnb_strmap found;
    tnb_strmap_init(&found, imp->arena);
    find_unsupported(imp, m->graph->node, m->graph->n_node, imp->opset, &found);
    for (size_t i = 0; i < m->n_functions; i++) {
        const Onnx__FunctionProto *f = m->functions[i];
        int64_t opset = imp->opset;
        for (size_t k = 0; k < f->n_opset_import; k++)
            if (onnx_is_default_domain(f->opset_import[k]->domain))
                opset = f->opset_import[k]->version;
        find_unsupported(imp, f->node, f->n_node, opset, &found);
    }
    if (!found.n)
        return true;
    const Onnx__NodeProto *first = found.at[0].value;
    const char *where = first->name && first->name[0] ? first->name
                        : first->n_output             ? first->output[0]
                                                      : "";
    tnb_report(tn_diags(imp->ctx), TNB_ERROR, TNB_UNSUPPORTED,
               (tnb_place){.file = imp->model->file,
                           .node = tn_strf(imp->ctx, "node '%s' (%s)", where,
                                           first->op_type ? first->op_type : "")},
               "unsupported %s", found.at[0].key);
    for (uint32_t i = 1; i < found.n; i++)
        tnb_diag_note(tn_diags(imp->ctx), "also unsupported: %s", found.at[i].key);
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
    }
    return e;
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
    for (size_t i = 0; i < n; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = given ? NULL : shape->dim[i];
        if (given)
            dims[i] = given->items.at[i];
        else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
                 dim->dim_value >= 0)
            dims[i] = tn_i64(imp->ctx, dim->dim_value);
        else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
                 dim->dim_param && dim->dim_param[0])
            dims[i] = named_dim(imp, dim->dim_param);
        else
            dims[i] = named_dim(imp, tn_strf(imp->ctx, "%s_d%zu", info->name, i));
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

static bool
import_inputs(onnx_import *imp, const Onnx__GraphProto *g, tn_list *params, tn_list *names)
{
    uint32_t index = 0;
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
        v->expr = bound_value(imp, info->name, index++);
        if (v->expr) {
            if (!tn_is(v->expr, TN_KIND_CONSTANT) ||
                !tnb_dtype_eq(onnx_dtype(v->expr), tn_type_dtype(t)))
                return fail(imp, TNB_TYPE,
                            "the value bound to input '%s' has dtype %s, the model wants %s",
                            info->name, tnb_dtype_print(onnx_dtype(v->expr)).s,
                            tnb_dtype_print(tn_type_dtype(t)).s);
            continue;
        }
        v->run_time_input = v->name;
        v->expr = tn_var_new(imp->ctx, identifier(imp, info->name), t);
        *params = tn_list_append(imp->ctx, *params, v->expr);
        *names = tn_list_append(imp->ctx, *names, tn_string(imp->ctx, info->name));
    }
    return true;
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
                   "output '%s' is declared with another type than the graph computes: %s",
                   info->name, onnx_type_text(imp, e->type));
}

static bool
import_outputs(onnx_import *imp, const Onnx__GraphProto *g, tn_list *results, tn_list *names)
{
    onnx_node n = {.imp = imp, .ctx = imp->ctx, .op = "", .text = NULL};
    tnb_strmap seen;
    tnb_strmap_init(&seen, imp->arena);
    if (!g->n_output)
        return fail(imp, TNB_FORMAT, "the graph has no outputs");
    for (size_t i = 0; i < g->n_output; i++) {
        const char *name = g->output[i]->name ? g->output[i]->name : "";
        onnx_value *v = tnb_strmap_get(&imp->scope->values, name);
        if (!v)
            return fail(imp, TNB_NOT_FOUND,
                        "output '%s' of the graph is made by no node, input or initializer", name);
        if (tnb_strmap_has(&seen, name))
            return fail(imp, TNB_FORMAT, "the graph has two outputs named '%s'", name);
        tnb_strmap_set(&seen, name, v);
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

static const tn_module *
import_graph(onnx_import *imp)
{
    tn_ctx *ctx = imp->ctx;
    const Onnx__GraphProto *g = imp->model->proto->graph;
    tn_list params = {0}, in_names = {0}, results = {0}, out_names = {0};
    onnx_scope scope = {0};
    imp->b = tn_builder_new(ctx, NULL);
    onnx_scope_push(imp, &scope);
    if (!onnx_import_initializers(imp, g) || !import_inputs(imp, g, &params, &in_names))
        return NULL;
    tn_builder_begin_function(imp->b, params);
    tn_builder_begin_block(imp->b, true);
    bool ok =
        onnx_import_nodes(imp, g->node, g->n_node) && import_outputs(imp, g, &results, &out_names);
    tn_builder_end_block(imp->b);
    const tn_expr *body = !ok              ? tn_error_node(ctx)
                          : results.n == 1 ? results.at[0]
                                           : tn_tuple_of(ctx, results);
    const tn_node *attrs = tn_dictv(ctx, "global_symbol", tn_string(ctx, "main"), "num_input",
                                    tn_i64(ctx, params.n), NULL);
    const tn_expr *f = tn_builder_end_function(imp->b, body, NULL, true, attrs);
    if (!ok || tn_is_error(f) || tn_is_error(tn_builder_add_function(imp->b, f, "main")))
        return NULL;
    return tn_module_with_attrs(ctx, onnx_used_functions(ctx, tn_builder_module(imp->b), "main"),
                                tn_dictv(ctx, "input_names", tn_array_of(ctx, in_names),
                                         "output_names", tn_array_of(ctx, out_names), NULL));
}

static const tn_module *
import_model(onnx_import *imp)
{
    if (!find_opset(imp))
        return NULL;
    find_functions(imp);
    if (!all_supported(imp))
        return NULL;
    tnb_strmap_init(&imp->dims, imp->arena);
    return import_graph(imp);
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
        tnb_report(tn_diags(ctx), TNB_ERROR, TNB_NO_MEMORY, (tnb_place){.file = path}, "no memory");
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
