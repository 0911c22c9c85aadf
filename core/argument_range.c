/* SPDX-License-Identifier: Apache-2.0 */
/* In which range made-up values of a parameter make sense: the operators that read it say in which theirs do, at the end of
 * tn_arg_schema.accepts.
 *
 *     "float tensor from 0 to 1"             0 <= x < 1
 *     "float tensor from 0"                  0 <= x
 *     "int tensor of rank 2 below prob.0"    0 <= x < extent 0 of the argument `prob`
 *
 * A parameter is followed through what only names, reshapes or converts it.
 */
#include "private.h"
#include "tenon/base/num.h"
#include "tenon/core/registry.h"
#include "tenon/core/walk.h"

struct seeker {
    tn_ctx *ctx;
    tn_list names; /* the parameter, and variables with its elements */
    tn_value_range *r;
};

static bool
is_named(const struct seeker *s, const tn_expr *e)
{
    for (uint32_t i = 0; i < s->names.n; i++)
        if (s->names.at[i] == e)
            return true;
    return false;
}

/* The number that a word begins with; false: none. */
static bool
number_at(const char *s, double *out)
{
    return tnb_read_f64(s, strcspn(s, " "), out);
}

static void
at_least(tn_value_range *r, double v)
{
    r->lo = !r->has_lo || v > r->lo ? v : r->lo;
    r->has_lo = true;
}

static void
below(tn_value_range *r, double v)
{
    r->hi = !r->has_hi || v < r->hi ? v : r->hi;
    r->has_hi = true;
}

/* "prob.0": an extent of the argument of that name. */
static void
below_extent(struct seeker *s, const tn_call *c, const tn_op *op, const char *what)
{
    size_t n = strcspn(what, ". ");
    int64_t axis;
    if (what[n] != '.' || !tnb_read_i64(what + n + 1, strcspn(what + n + 1, " "), &axis))
        return;
    const tn_arg_schema *a = op->args;
    for (uint32_t i = 0; i < c->args.n && a && a[i].name; i++) {
        tn_list dims;
        if (strlen(a[i].name) != n || strncmp(a[i].name, what, n) != 0 ||
            !tn_type_dims(c->args.at[i]->type, &dims) || axis < 0 || axis >= (int64_t)dims.n)
            continue;
        at_least(s->r, 0);
        s->r->extent = dims.at[axis];
    }
}

static void
narrow(struct seeker *s, const tn_call *c, const tn_op *op, const char *accepts)
{
    const char *from = strstr(accepts, " from "), *to = strstr(accepts, " to "),
               *what = strstr(accepts, " below ");
    double v;
    if (from && number_at(from + 6, &v))
        at_least(s->r, v);
    if (to && number_at(to + 4, &v))
        below(s->r, v);
    if (what)
        below_extent(s, c, op, what + 7);
}

/* Whether a call's result has the elements of its first argument. */
static bool
keeps_elements(const tn_expr *call)
{
    static const char *const ops[] = {"relax.reshape",     "relax.permute_dims",
                                      "relax.expand_dims", "relax.squeeze",
                                      "relax.flatten",     "relax.astype",
                                      "relax.broadcast_to"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (tn_is_call_to(call, ops[i]))
            return true;
    return false;
}

static tn_walk_step
look_at(void *user, const tn_node *n)
{
    struct seeker *s = user;
    const tn_var_binding *b = tn_as_var_binding(n);
    const tn_call *c = b ? tn_as_call(b->value) : tn_as_call(n);
    const tn_op *op = c ? tn_call_op_of(c) : NULL;
    if (b && (is_named(s, b->value) ||
              (op && c->args.n && is_named(s, c->args.at[0]) && keeps_elements(b->value))))
        s->names = tn_list_append(s->ctx, s->names, b->var);
    const tn_arg_schema *a = op && !b ? op->args : NULL;
    for (uint32_t i = 0; a && i < c->args.n && a[i].name; i++)
        if (a[i].accepts && is_named(s, c->args.at[i]))
            narrow(s, c, op, a[i].accepts);
    return TN_WALK_ON;
}

tn_value_range
tn_param_range(tn_ctx *ctx, const tn_function *f, const tn_expr *param)
{
    tn_value_range r = {0};
    struct seeker s = {.ctx = ctx, .names = tn_listv(ctx, param, NULL), .r = &r};
    tn_walk(f->body, 0, look_at, NULL, &s);
    if (r.has_lo && r.has_hi && r.hi <= r.lo)
        return (tn_value_range){0}; /* operators that contradict each other */
    return r;
}
