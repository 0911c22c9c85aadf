/* SPDX-License-Identifier: Apache-2.0 */
/* What operators take for granted. Type inference states it where it is about to believe it; nothing is kept
 * unless somebody asks for the assumptions of a call, which runs its inference again with a recorder.
 */
#include "private.h"

bool
tn_assuming(const tn_ctx *ctx)
{
    return ctx->recorder != NULL;
}

bool
tn_assume(tn_ctx *ctx, const tn_expr *holds, const char *text, tn_list values)
{
    int64_t known;
    if (tn_is_error(holds))
        return false;
    if (tn_int_value(holds, &known))
        return known != 0;
    if (!ctx->recorder)
        return true;
    tn_assumption a = {.holds = holds,
                       .text = tn_str(ctx, text),
                       .values = tn_list_of(ctx, values.at, values.n)};
    TNB_PUSH(ctx->scratch, *ctx->recorder, a);
    return true;
}

bool
tn_assume_equal(tn_ctx *ctx, const tn_expr *a, const tn_expr *b, const char *text)
{
    int64_t x, y;
    if (a == b)
        return true;
    if (tn_int_value(a, &x) && tn_int_value(b, &y))
        return x == y;
    if (!ctx->recorder || !a || !b)
        return true;
    const tn_node *both[] = {a, b};
    return tn_assume(ctx, tn_eq_of(ctx, a, b), text, (tn_list){both, 2});
}

/* No symbolic variable occurs in the arguments: what could be wrong has been told. */
static bool
all_known(tn_list args)
{
    for (uint32_t i = 0; i < args.n; i++) {
        const tn_expr *e = args.at[i];
        const tn_tuple *t = tn_as_tuple(e);
        if (t                 ? !all_known(t->fields)
            : tn_is_scalar(e) ? !tn_is(e, TN_KIND_INT_IMM) && !tn_is(e, TN_KIND_FLOAT_IMM)
                              : e->type && !(e->type->flags & TN_FLAG_CLOSED))
            return false;
    }
    return true;
}

bool
tn_call_assumptions(tn_ctx *ctx, const tn_call *call, tn_assumptions *out)
{
    const tn_op *op = tn_call_op_of(call);
    *out = (tn_assumptions){NULL, 0, 0};
    if (!op || !op->infer || all_known(call->args))
        return true;
    tn_assumptions *outer = ctx->recorder, found = {NULL, 0, 0};
    tn_call copy = *call;
    copy.base.type = NULL;
    ctx->recorder = &found;
    tn_loc old = tn_at(ctx, call->base.loc);
    const tn_type *t = TNB_WITHIN("operator", op->base.name, "infer", NULL, op->infer(ctx, &copy));
    tn_at(ctx, old);
    ctx->recorder = outer;
    *out = found;
    return !tn_is_error(t);
}

/* ---- calls that were asked before ---- */

typedef struct asked {
    const tn_call *call;
    tn_assumptions found;
} asked;

/* A variable's type says all that inference knows of it; what else stands there may matter by its value. */
static bool
is_by_type(const tn_expr *arg)
{
    return tn_is_var(arg) && tn_is(arg->type, TN_KIND_TY_TENSOR);
}

static uint64_t
hash_of_call(tn_ctx *ctx, const tn_call *c)
{
    uint64_t h = tn_hash(ctx, c->op, false) * 31 + (c->attrs ? tn_hash(ctx, c->attrs, false) : 0);
    for (uint32_t i = 0; i < c->args.n; i++)
        h = h * 31 +
            tn_hash(ctx, is_by_type(c->args.at[i]) ? c->args.at[i]->type : c->args.at[i], false);
    return h;
}

static bool
same_call(tn_ctx *ctx, const tn_call *a, const tn_call *b)
{
    if (a->op != b->op || a->args.n != b->args.n || !a->attrs != !b->attrs ||
        (a->attrs && !tn_equal(ctx, a->attrs, b->attrs, false, NULL)))
        return false;
    for (uint32_t i = 0; i < a->args.n; i++) {
        const tn_expr *x = a->args.at[i], *y = b->args.at[i];
        bool by_type = is_by_type(x) && is_by_type(y);
        if (by_type ? x->type != y->type && !tn_equal(ctx, x->type, y->type, false, NULL)
                    : x != y && !tn_equal(ctx, x, y, false, NULL))
            return false;
    }
    return true;
}

bool
tn_call_assumptions_again(tn_ctx *ctx, tnb_ptrmap *before, const tn_call *call, tn_assumptions *out)
{
    if (!before->n)
        tnb_ptrmap_init(before, tn_scratch(ctx));
    *out = (tn_assumptions){NULL, 0, 0};
    if (all_known(call->args))
        return true;
    const void *key = (const void *)(uintptr_t)(hash_of_call(ctx, call) | 1);
    asked *a = call->ty_args.n ? NULL : tnb_ptrmap_get(before, key);
    if (a && same_call(ctx, a->call, call)) {
        *out = a->found;
        out->cap = out->n; /* who appends takes a copy */
        return true;
    }
    if (!tn_call_assumptions(ctx, call, out))
        return false;
    a = TNB_NEW(tn_scratch(ctx), asked);
    *a = (asked){call, *out};
    tnb_ptrmap_set(before, key, a);
    return true;
}
