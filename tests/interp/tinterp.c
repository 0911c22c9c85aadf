/* SPDX-License-Identifier: Apache-2.0 */
#include "tinterp.h"

tester *
tester_new(void)
{
    tester *t = calloc(1, sizeof *t);
    tnb_err err = {0};
    assert_non_null(t);
    if (tnb_plugins_open(NULL, NULL, &t->plugins, &err) != TNB_OK)
        fail_msg("%s", err.message);
    t->reg = tn_registry_new(t->plugins);
    t->ctx = tn_ctx_new(t->reg);
    t->ev = tn_find_evaluator(t->reg, "interp", &err);
    if (!t->ev)
        fail_msg("%s", err.message);
    return t;
}

void
tester_free(tester *t)
{
    tn_ctx_free(t->ctx);
    tn_registry_free(t->reg);
    tnb_plugins_close(t->plugins);
    free(t);
}

static void
show(tester *t, const char *what)
{
    tnb_buf out = {0};
    tnb_diags_print(tn_diags(t->ctx), &out);
    fail_msg("%s\n%s", what, out.s ? out.s : "");
}

void
tester_load(tester *t, const char *body)
{
    tnb_buf text = {0};
    tnb_buf_printf(&text, "@I.ir_module\nclass Module:\n%s", body);
    t->m = tn_read_module(t->ctx, "test.py", text.s, text.n);
    tnb_buf_free(&text);
    if (!t->m)
        show(t, "the program cannot be read");
}

const tn_expr *
tester_tensor(tester *t, tnb_dtype d, const int64_t *shape, int32_t ndim, const double *values,
              size_t n)
{
    void *bytes;
    const tn_data *data = tn_data_new(t->ctx, d, ndim, shape, &bytes);
    assert_non_null(data);
    for (uint64_t i = 0; n && i < data->n_elems; i++) {
        if (tnb_dtype_is_float(d))
            tnb_store_f64(bytes, d, i, values[i % n]);
        else
            tnb_store_i64(bytes, d, i, (int64_t)values[i % n]);
    }
    return tn_constant_of(t->ctx, data);
}

const tn_expr *
tester_vector(tester *t, tnb_dtype d, int64_t n, const double *values, size_t n_values)
{
    return tester_tensor(t, d, &n, 1, values, n_values);
}

double
tester_at(tester *t, const tn_expr *tensor, uint64_t i)
{
    const tn_constant *c = tn_as_constant(tensor);
    assert_non_null(c);
    assert_true(i < c->data->n_elems);
    const void *bytes = tn_data_get(t->ctx, c->data);
    double f = 0;
    int64_t k = 0;
    if (tnb_dtype_is_float(c->data->dtype)) {
        assert_true(tnb_load_f64(bytes, c->data->dtype, i, &f));
        return f;
    }
    assert_true(tnb_load_i64(bytes, c->data->dtype, i, &k));
    return c->data->dtype.code == TNB_UINT ? (double)(uint64_t)k : (double)k;
}

const tn_expr *
tester_run(tester *t, const char *func, const tn_expr *const *args, uint32_t n)
{
    const tn_expr *r = t->ev->run(t->ev->self, t->ctx, t->m, func, args, n, &t->opt);
    if (!r)
        show(t, "the program failed");
    assert_int_equal(tnb_diags_errors(tn_diags(t->ctx)), 0);
    return r;
}

void
tester_fails(tester *t, const char *func, const tn_expr *const *args, uint32_t n,
             const char *const *parts)
{
    assert_null(t->ev->run(t->ev->self, t->ctx, t->m, func, args, n, &t->opt));
    const tnb_diag *d = tnb_diags_get(tn_diags(t->ctx), 0);
    assert_non_null(d);
    for (; *parts; parts++)
        if (!strstr(d->message, *parts))
            fail_msg("'%s' does not say '%s'", d->message, *parts);
    assert_non_null(d->place.file); /* located */
    assert_true(d->place.line > 0);
    tnb_diags_clear(tn_diags(t->ctx));
}
