/* SPDX-License-Identifier: Apache-2.0 */
#include "tops.h"

#include <stdio.h>

bool
tops_open(tops *t)
{
    tnb_err err = {0};
    memset(t, 0, sizeof *t);
    if (tnb_plugins_open(NULL, NULL, &t->plugins, &err) != TNB_OK) {
        fprintf(stderr, "plugins: %s\n", err.message);
        return false;
    }
    t->reg = tn_registry_new(t->plugins);
    t->ctx = tn_ctx_new(t->reg);
    t->eval = tn_find_evaluator(t->reg, "interp", &err);
    return true;
}

void
tops_close(tops *t)
{
    tn_ctx_free(t->ctx);
    tn_registry_free(t->reg);
    tnb_plugins_close(t->plugins);
}

void
tops_print_errors(tops *t)
{
    tnb_buf b = {0};
    tnb_diags_print(tn_diags(t->ctx), &b);
    fprintf(stderr, "%s\n", b.s ? b.s : "");
    tnb_buf_free(&b);
    tnb_diags_clear(tn_diags(t->ctx));
}

const tn_expr *
tops_const(tops *t, tnb_dtype d, const double *values, const int64_t *shape)
{
    int32_t ndim = 0;
    void *bytes;
    while (shape[ndim] >= 0)
        ndim++;
    const tn_data *data = tn_data_new(t->ctx, d, ndim, shape, &bytes);
    for (uint64_t i = 0; i < data->n_elems; i++) {
        double v = values ? values[i] : (double)((i * 7 + 3) % 17) / 4 - 2;
        if (tnb_dtype_is_float(d))
            tnb_store_f64(bytes, d, i, v);
        else
            tnb_store_i64(bytes, d, i, (int64_t)v);
    }
    return tn_constant_of(t->ctx, data);
}

const tn_expr *
tops_var(tops *t, tnb_dtype d, const int64_t *shape)
{
    const tn_node *dims[32];
    uint32_t n = 0;
    static const char *const names[] = {"n", "m", "k"};
    const tn_expr *vars[3] = {NULL};
    for (; shape[n] != TOPS_END; n++) {
        if (shape[n] >= 0) {
            dims[n] = tn_i64(t->ctx, shape[n]);
            continue;
        }
        int64_t v = -1 - shape[n];
        if (!vars[v])
            vars[v] = tn_var_dtype(t->ctx, names[v], TNB_I64);
        dims[n] = vars[v];
    }
    return tn_var_new(t->ctx, "x", tn_ty_tensor_dims(t->ctx, tn_list_of(t->ctx, dims, n), d));
}

static bool
is_tensor(const tn_expr *e)
{
    return tn_is(e->type, TN_KIND_TY_TENSOR);
}

/* Tensors become parameters; tuples of tensors are rebuilt from parameters. */
static const tn_expr *
parameter_for(tops *t, const tn_expr *arg, tn_list *params)
{
    const tn_tuple *tuple = tn_as_tuple(arg);
    if (tuple && tuple->fields.n && is_tensor(tuple->fields.at[0])) {
        tn_list fields = {0};
        for (uint32_t i = 0; i < tuple->fields.n; i++)
            fields = tn_list_append(t->ctx, fields, parameter_for(t, tuple->fields.at[i], params));
        return tn_tuple_of(t->ctx, fields);
    }
    if (!is_tensor(arg))
        return arg;
    const tn_expr *v = tn_is_var(arg) ? arg : tn_var_new(t->ctx, "x", arg->type);
    *params = tn_list_append(t->ctx, *params, v);
    return v;
}

const tn_module *
tops_module(tops *t, const char *op, const tn_node *attrs, const tn_expr *const *args, uint32_t n)
{
    tn_ctx *ctx = t->ctx;
    tn_list params = {0}, operands = {0};
    for (uint32_t i = 0; i < n; i++)
        operands = tn_list_append(ctx, operands, parameter_for(t, args[i], &params));
    tn_builder *b = tn_builder_new(ctx, NULL);
    tn_builder_begin_function(b, params);
    tn_builder_begin_block(b, true);
    const tn_expr *call = tn_call_op(ctx, op, operands, attrs);
    if (tn_is_error(call))
        return NULL;
    const tn_expr *out = tn_emit_output(b, call, "gv");
    tn_builder_end_block(b);
    const tn_expr *f = tn_builder_end_function(b, out, NULL, true, NULL);
    f = tn_func_with_attr(ctx, f, "global_symbol", tn_string(ctx, "main"));
    tn_builder_add_function(b, f, "main");
    return tn_builder_module(b);
}

const tn_module *
tops_legalize(tops *t, const tn_module *m)
{
    tn_pass_list list;
    tn_pass_run run = {0};
    if (!m || !tn_pass_list_parse(t->ctx, "LegalizeOps, AnnotateTIROpPattern", "test", &list))
        return NULL;
    return tn_run_passes(t->ctx, m, &list, &run);
}

static tn_walk_step
find_operator(void *user, const tn_node *n)
{
    const tn_call *c = tn_as_call(n);
    const tn_op *op = c ? tn_call_op_of(c) : NULL;
    bool *found = user;
    *found |= op && op->legalize && !(op->flags & TN_OP_SCALAR);
    return TN_WALK_ON;
}

bool
tops_has_operator(const tn_module *m)
{
    bool found = false;
    for (uint32_t i = 0; i < m->funcs.n; i++)
        tn_walk(m->funcs.at[i], 0, find_operator, NULL, &found);
    return found;
}

static void
add_values(tops *t, const tn_expr *arg, tn_list *values)
{
    const tn_tuple *tuple = tn_as_tuple(arg);
    for (uint32_t i = 0; tuple && i < tuple->fields.n; i++)
        add_values(t, tuple->fields.at[i], values);
    if (is_tensor(arg))
        *values = tn_list_append(t->ctx, *values, arg);
}

const tn_expr *
tops_run(tops *t, const char *op, const tn_node *attrs, const tn_expr *const *args, uint32_t n)
{
    const tn_module *m = tops_legalize(t, tops_module(t, op, attrs, args, n));
    tn_list values = {0};
    tn_eval_options opt = {.budget = 100000000};
    if (!m || tops_has_operator(m))
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        add_values(t, args[i], &values);
    const tn_expr *r = t->eval->run(t->eval->self, t->ctx, m, "main", values.at, values.n, &opt);
    return r && tn_is_error(r) ? NULL : r;
}

double
tops_at(tops *t, const tn_expr *value, uint64_t i)
{
    const tn_constant *c = tn_as_constant(value);
    double f = 0;
    int64_t v = 0;
    const void *bytes = tn_data_get(t->ctx, c->data);
    if (tnb_dtype_is_float(c->data->dtype)) {
        tnb_load_f64(bytes, c->data->dtype, i, &f);
        return f;
    }
    tnb_load_i64(bytes, c->data->dtype, i, &v);
    return (double)v;
}

const tn_expr *
tops_field(const tn_expr *value, uint32_t i)
{
    return tn_as_tuple(value)->fields.at[i];
}
