/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin with schedule rules of its own, as a device's would be: one that is right, and some that are wrong, each in its way. */
#include "tenon/core/registry.h"
#include "tenon/core/walk.h"
#include "tenon/kit/rule.h"
#include "tenon/kit/schedule.h"

/* Takes functions of one block, whose loops become one, and says so in an attribute. */
static const tn_node *
apply_one_loop(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)target;
    (void)self;
    tnk_sch *s = tnk_sch_new(ctx, prim_func);
    tnk_item *b[2], *l[8];
    if (!s || tnk_sch_blocks(s, b, 2) != 1)
        return NULL;
    tnk_sch_quiet(s);
    uint32_t n = tnk_sch_loops(s, b[0], l, 8);
    for (uint32_t i = 1; i < n && i < 8; i++)
        l[0] = tnk_fuse(s, l[0], l[i]);
    const tn_node *f = n ? tnk_sch_finish(s) : NULL;
    return f ? tn_func_with_attr(ctx, f, "testrule.one_loop", tn_bool(ctx, true)) : NULL;
}

/* Leaves every function to others. */
static const tn_node *
apply_nothing(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)ctx;
    (void)prim_func;
    (void)target;
    (void)self;
    return NULL;
}

/* Wrong: what it gives has one parameter less. */
static const tn_node *
apply_fewer(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)target;
    (void)self;
    const tn_prim_func *f = tn_as_prim_func(prim_func);
    return tn_prim_func_of(ctx, (tn_list){f->params.at, f->params.n - 1},
                           (tn_list){f->buffers.at, f->buffers.n - 1}, f->body, f->ret, f->attrs);
}

/* Wrong: the last parameter has another shape. */
static const tn_node *
apply_reshaped(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)target;
    (void)self;
    const tn_prim_func *f = tn_as_prim_func(prim_func);
    tn_buffer b = *tn_as_buffer(f->buffers.at[f->buffers.n - 1]);
    const tn_node *old = f->buffers.at[f->buffers.n - 1];
    const tn_expr *one = tn_i64(ctx, 1);
    b.shape = tn_list_append(ctx, b.shape, one);
    const tn_node *fresh = tn_buffer_of(ctx, &b);
    tn_list buffers = {0};
    for (uint32_t i = 0; i < f->buffers.n; i++)
        buffers = tn_list_append(ctx, buffers, f->buffers.at[i] == old ? fresh : f->buffers.at[i]);
    return tn_prim_func_of(ctx, f->params, buffers, f->body, f->ret, f->attrs);
}

/* Wrong: something that is no tensor program. */
static const tn_node *
apply_other(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)prim_func;
    (void)target;
    (void)self;
    return tn_i64(ctx, 1);
}

/* Fails with an error. */
static const tn_node *
apply_failing(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    (void)target;
    (void)self;
    tn_error(ctx, prim_func->loc, TNB_UNSUPPORTED, "the device has no loops");
    return NULL;
}

/* The function's statements and one more. */
static const tn_node *
with_statement(tn_ctx *ctx, const tn_node *prim_func, const tn_stmt *more)
{
    const tn_prim_func *f = tn_as_prim_func(prim_func);
    const tn_block_realize *r = tn_as_block_realize(f->body);
    tn_block root = *tn_as_block(r->block);
    root.body = tn_seqv(ctx, root.body, more, NULL);
    const tn_stmt *body =
        tn_block_realize_of(ctx, r->values, r->predicate, tn_block_of(ctx, &root));
    return tn_prim_func_of(ctx, f->params, f->buffers, body, f->ret, f->attrs);
}

/* A rule to tune, most of whose schedules are a danger to whoever runs them. */
static const tn_node *
apply_perilous(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target, void *self)
{
    enum { RIGHT, ALSO_RIGHT, HANGS, CRASHES, IS_WRONG };
    static const int64_t perils[] = {RIGHT, ALSO_RIGHT, HANGS, CRASHES, IS_WRONG};
    const tn_node *f = apply_one_loop(ctx, prim_func, target, self);
    int64_t peril = f ? tnk_rule_choice(ctx, "peril", perils, 5, RIGHT) : RIGHT;
    if (peril == RIGHT)
        return f;
    const tn_prim_func *p = tn_as_prim_func(f);
    const tn_node *out = p->buffers.at[p->buffers.n - 1];
    const tn_expr *zero = tn_i64(ctx, 0), *far = tn_i64(ctx, (int64_t)1 << 40);
    tn_list first = tn_listv(ctx, zero, zero, NULL);
    const tn_expr *value = tn_buffer_load_of(ctx, out, first), *one = tn_literal(ctx, TNB_F32, 1);
    switch (peril) {
    case HANGS:
        return with_statement(ctx, f,
                              tn_while_of(ctx, tn_bool(ctx, true),
                                          tn_buffer_store_of(ctx, out, tn_add(ctx, value, one),
                                                             first)));
    case CRASHES:
        return with_statement(ctx, f,
                              tn_buffer_store_of(ctx, out, one, tn_listv(ctx, far, zero, NULL)));
    case IS_WRONG:
        return with_statement(ctx, f, tn_buffer_store_of(ctx, out, tn_add(ctx, value, one), first));
    default:
        return with_statement(ctx, f, tn_buffer_store_of(ctx, out, value, first));
    }
}

#define RULE(v, n, what, fn)                                  \
    static const tnk_rule v = {.base.size = sizeof(tnk_rule), \
                               .base.name = n,                \
                               .base.doc = what,              \
                               .apply = fn}
RULE(one_loop, "testrule.OneLoop", "One loop around a function's only block.", apply_one_loop);
RULE(for_cpu, "cpu.OneLoop", "The same, found by its short name for the target cpu.",
     apply_one_loop);
RULE(nothing, "testrule.Nothing", "Takes nothing.", apply_nothing);
RULE(fewer, "testrule.Fewer", "Loses a parameter.", apply_fewer);
RULE(reshaped, "testrule.Reshaped", "Gives a parameter another shape.", apply_reshaped);
RULE(other, "testrule.Other", "Gives no tensor program.", apply_other);
RULE(perilous, "testrule.Perilous", "Hangs, crashes or errs, as it is told.", apply_perilous);
RULE(failing, "testrule.Failing", "Fails.", apply_failing);

static const tnk_rule *const rules[] = {&one_loop, &for_cpu, &nothing, &fewer,
                                        &reshaped, &other,   &failing, &perilous};

TN_PLUGIN(testrule, "0.1.0", "Apache-2.0", "schedule rules for tests", .rules = rules,
          .n_rules = sizeof rules / sizeof *rules);
