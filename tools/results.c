/* SPDX-License-Identifier: Apache-2.0 */
/* What a function gave: its leaves with their names, and whether they are what --expect says. */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

#include "tenon/core/eval.h"

typedef struct leaves {
    tnt_session *s;
    TNB_VEC(const char *) names;
    TNB_VEC(tnr_value) values;
    tnt_items items;
} leaves;

/* The fields of a tuple among the results are results of their own: NAME_0, NAME_1, ... False after
 * an error. */
static bool
add_leaves(leaves *l, const char *name, tnr_value v)
{
    if (v.tag == TNR_TUPLE) {
        if (!tnt_enter_tuple(&l->items, v.u.tuple))
            return false;
        for (uint32_t i = 0; i < v.u.tuple->n; i++)
            if (!add_leaves(l, tn_strf(l->s->ctx, "%s_%u", name, i), v.u.tuple->items[i]))
                return false;
        l->items.depth--;
        return true;
    }
    TNB_PUSH(tn_arena(l->s->ctx), l->names, name);
    TNB_PUSH(tn_arena(l->s->ctx), l->values, v);
    return true;
}

bool
tnt_take_results(tnt_session *s, const tnr_signature *sig, const tnr_value *ret,
                 const char ***names, const tn_expr ***results, uint32_t *n)
{
    uint32_t n_results;
    const tnr_value *given = tnt_results(ret, &n_results);
    leaves l = {.s = s};
    for (uint32_t i = 0; i < n_results; i++)
        if (!add_leaves(&l,
                        i < sig->n_results && sig->results[i].name ? sig->results[i].name
                                                                   : tn_strf(s->ctx, "output%u", i),
                        given[i]))
            return false;
    *n = l.values.n;
    *names = l.names.at;
    *results = TNB_NEW_N(tn_arena(s->ctx), const tn_expr *, *n + 1);
    for (uint32_t i = 0; i < *n; i++)
        if (!((*results)[i] = tnt_from_runtime(s, l.values.at[i])))
            return false;
    return true;
}

int
tnt_compare_results(tnt_session *s, const tnt_args *a, const tn_expr *const *results,
                    const char *const *names, uint32_t n, bool tell)
{
    double rtol, atol;
    if (!tnt_float(a, "rtol", 1e-3, 0, TNT_FINITE, &rtol) ||
        !tnt_float(a, "atol", 1e-4, 0, TNT_FINITE, &atol))
        return TNT_USAGE;
    uint32_t n_expect, failed = 0;
    const char **expect = tnt_values(a, "expect", &n_expect);
    int status = TNT_OK;
    for (uint32_t e = 0; expect && e < n_expect; e++) {
        const char *file;
        int i = tnt_assignment(expect[e], names, n, "result", &file);
        const tn_expr *want = i < 0 ? NULL : tnt_load_tensor(s, file);
        if (!want) {
            status = TNT_FAILED;
            continue;
        }
        tnb_buf why = {0};
        if (tn_values_close(s->ctx, results[i], want, rtol, atol, &why)) {
            if (tell)
                fprintf(stderr, "tenon: '%s' equals %s%s%s\n", names[i], file, why.n ? ": " : "",
                        why.n ? why.s : "");
        } else {
            fprintf(stderr, "tenon: '%s' differs from %s: %s\n", names[i], file,
                    why.n ? why.s : "");
            failed++;
        }
        tnb_buf_free(&why);
    }
    tnt_report(s);
    free(expect);
    return failed ? TNT_FAILED : status;
}
