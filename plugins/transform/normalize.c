/* SPDX-License-Identifier: Apache-2.0 */
/* Normalize: empty binding blocks go, neighbouring blocks of one kind become one, result types are
 * what is known of the body.
 *
 *     with R.dataflow():                             with R.dataflow():
 *         a = R.add(x, x); R.output(a)                   a = R.add(x, x)
 *     with R.dataflow():                                 b = R.exp(a)
 *         b = R.exp(a); R.output(b)                      R.output(a, b)
 *
 * The rest of upstream's normal form (arguments are leaves, bodies and branches are sequences, all
 * is typed) holds of every module here: the reader and the constructors see to it. Keeps results
 * bit by bit. Cases: tests/pass/Normalize.
 */
#include "transform.h"

#include "tenon/core/walk.h"

static bool
is_normal(const tn_seq_expr *s)
{
    for (uint32_t i = 0; i < s->blocks.n; i++)
        if (!((const tn_bindings_block *)s->blocks.at[i])->bindings.n ||
            (i && s->blocks.at[i]->kind == s->blocks.at[i - 1]->kind))
            return false;
    return true;
}

static const tn_node *
normal(tn_rewriter *r, const tn_node *n)
{
    const tn_seq_expr *s = tn_as_seq_expr(n);
    const tn_function *f = tn_as_function(n);
    if (s && !is_normal(s))
        return transform_sequence(r->ctx, s->blocks, s->body);
    if (f && f->ret && f->body->type && !tn_type_equal(r->ctx, f->ret, f->body->type) &&
        tn_type_check(r->ctx, f->ret, f->body->type) == TN_SUBTYPE_YES) {
        const tn_expr *now = transform_function(r->ctx, f, f->params, f->body, f->ret);
        /* the body may say no more than what the caller is told already */
        return tn_type_equal(r->ctx, ((const tn_function *)now)->ret, f->ret) ? NULL : now;
    }
    return NULL;
}

static const tn_node *
each_function(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func,
              void *user)
{
    (void)m;
    (void)name;
    (void)user;
    tn_rewriter r = {.ctx = pc->ctx, .post = normal};
    const tn_node *out = tn_rewrite(&r, func);
    return tn_is_error(out) ? NULL : out;
}

static const tn_module *
run(const tn_pass_ctx *pc, const tn_module *m)
{
    return tn_map_functions(pc, m, TN_FUNCTIONS, each_function, NULL);
}

const tn_pass transform_normalize = {
    .base.size = sizeof(tn_pass),
    .opt_level = 1,
    .base.name = "Normalize",
    .base.doc = "bring binding blocks and result types into their normal form",
    .keeps = TN_KEEPS_BITS,
    .run = run,
};
