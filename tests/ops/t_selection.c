/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that select, group and suppress, on the interpreter: what they give on random inputs is
 * what the formulas say, extents found at run time included. The same cases run as machine code in
 * selection.sh. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "selection.h"

static const tn_expr *
constant(tops *t, const array *a)
{
    return tops_const(t, a->dtype, a->v, a->dim);
}

static void
same(tops *t, const selection *s, uint64_t seed, int field, const tn_expr *value, const array *want)
{
    const tn_constant *c = tn_as_constant(value);
    assert_non_null(c);
    assert_true(tnb_dtype_eq(c->data->dtype, want->dtype));
    assert_int_equal(c->data->ndim, want->ndim);
    int64_t n = 1;
    for (int i = 0; i < want->ndim; i++) {
        if (c->data->shape[i] != want->dim[i])
            fail_msg("%s, draw %d, output %d: axis %d has %d entries, expected %d", s->name,
                     (int)seed, field, i, (int)c->data->shape[i], (int)want->dim[i]);
        n *= want->dim[i];
    }
    for (int64_t i = 0; i < n; i++) {
        double got = tops_at(t, value, (uint64_t)i), w = want->v[i];
        bool ok = isnan(w) ? isnan(got) : got == w || fabs(got - w) <= 1e-5 + 1e-5 * fabs(w);
        if (!ok)
            fail_msg("%s, draw %d, output %d: element %d is %.9g, expected %.9g", s->name,
                     (int)seed, field, (int)i, got, w);
    }
}

static void
check(tops *t, const selection *s, uint64_t seed)
{
    array in[SELECTION_MAX], out[SELECTION_MAX];
    const tn_expr *tensors[SELECTION_MAX], *args[SELECTION_MAX + 5];
    int n_out = s->draw(s, seed, in, out), n_in = 0;
    for (; s->args[n_in]; n_in++)
        tensors[n_in] = constant(t, &in[n_in]);
    uint32_t n = selection_args(t, s, tensors, args);
    const tn_expr *v = tops_run(t, s->op, s->attrs ? s->attrs(t->ctx) : NULL, args, n);
    if (!v) {
        tops_print_errors(t);
        fail_msg("%s, draw %d does not run", s->name, (int)seed);
    }
    for (int i = 0; i < n_out; i++)
        same(t, s, seed, i, tn_is(v, TN_KIND_TUPLE) ? tops_field(v, (uint32_t)i) : v, &out[i]);
    selection_free(in, n_in);
    selection_free(out, n_out);
}

static void
random_cases(void **state)
{
    for (int i = 0; i < n_selections; i++)
        for (uint64_t seed = 0; seed < SELECTION_DRAWS; seed++)
            check(*state, &selections[i], seed);
}

static int
setup(void **state)
{
    *state = malloc(sizeof(tops));
    return tops_open(*state) ? 0 : -1;
}

static int
teardown(void **state)
{
    tops_close(*state);
    free(*state);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_cases, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
