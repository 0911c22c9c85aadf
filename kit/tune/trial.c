/* SPDX-License-Identifier: Apache-2.0 */
/* One application of a rule with a say in its parameters. */
#include "tune_private.h"

#include "tenon/core/ctx.h"

struct answers {
    tn_ctx *ctx;
    tnk_trial *t;
    TNB_VEC(tnk_asked) asked;
};

static int64_t
wanted(const tnk_trial *t, const char *name, int64_t otherwise)
{
    for (uint32_t i = 0; i < t->n_choices; i++)
        if (!strcmp(t->choices[i].name, name))
            return t->choices[i].value;
    return otherwise;
}

static int64_t
choose(void *user, const char *name, const int64_t *options, uint32_t n, int64_t preferred)
{
    struct answers *s = user;
    for (uint32_t i = 0; i < s->asked.n; i++)
        if (!strcmp(s->asked.at[i].name, name))
            return s->asked.at[i].value;
    tnk_asked q = {.name = tn_str(s->ctx, name),
                   .options = tnb_dup(tn_arena(s->ctx), options, n * sizeof *options),
                   .n = n,
                   .preferred = preferred};
    int64_t v = s->t->pick ? s->t->pick(s->t->user, &q, s->asked.n) : wanted(s->t, name, preferred);
    q.value = preferred;
    for (uint32_t i = 0; i < n; i++)
        if (options[i] == v)
            q.value = v;
    TNB_PUSH(tn_arena(s->ctx), s->asked, q);
    return q.value;
}

const tn_node *
tnk_trial_run(tn_ctx *ctx, const tnk_rule *rule, const tn_node *prim_func, const tn_target *target,
              tnk_trial *t)
{
    struct answers s = {.ctx = ctx, .t = t};
    const tnk_chooser c = {.choose = choose, .user = &s};
    const tnk_chooser *before = tnk_rule_set_chooser(ctx, &c);
    const tn_node *f =
        TN_WITHIN(ctx, "rule", rule, NULL, rule->apply(ctx, prim_func, target, rule->self));
    tnk_rule_set_chooser(ctx, before);
    t->asked = s.asked.at;
    t->n_asked = s.asked.n;
    return tn_is_error(f) ? NULL : f;
}

bool
tnk_trial_followed(const tnk_trial *t)
{
    for (uint32_t i = 0; i < t->n_choices; i++) {
        bool found = false;
        for (uint32_t k = 0; k < t->n_asked && !found; k++)
            found = !strcmp(t->asked[k].name, t->choices[i].name) &&
                    t->asked[k].value == t->choices[i].value;
        if (!found)
            return false;
    }
    return true;
}
