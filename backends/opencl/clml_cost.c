/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a function for the extension is worth the copies around it.
 *
 *     lv = cls.fused_relu_add_clml(x, y)     =>     lv1 = R.nn.relu(x)
 *                                                   lv = R.add(lv1, y)
 *
 * What goes in and comes out has to be copied into the device's own layout and back, and what the
 * pipeline would have fused with its neighbours becomes launches of its own. So a function counts the
 * operations that a library does better than a kernel made here (element by element arithmetic and moves
 * count nothing), and is put back where it is called if these are fewer than `min_work` for each element
 * copied. Constants are copied once and do not count.
 */
#include "clml.h"

#include <string.h>

#include "tenon/base/log.h"
#include "tenon/core/walk.h"

/* ---- what a function does ---- */

static double
elements(const tn_type *t)
{
    const tn_ty_tuple *all = tn_as_ty_tuple(t);
    int64_t d[4];
    double n = 0;
    for (uint32_t i = 0; all && i < all->fields.n; i++)
        n += elements(all->fields.at[i]);
    return all                      ? n
           : clml_extents(t, d) < 0 ? 0
                                    : (double)d[0] * (double)d[1] * (double)d[2] * (double)d[3];
}

/* Multiplications and additions, roughly. */
static double
work_of(const tn_call *c)
{
    const tn_type *in = c->args.n ? c->args.at[0]->type : NULL;
    double out = elements(c->base.type), x = in ? elements(in) : 0;
    int64_t w[4], size[2];
    if (tn_is_call_to(&c->base, "relax.nn.conv2d") && clml_extents(c->args.at[1]->type, w) == 4)
        return 2 * out * (double)(w[1] * w[2] * w[3]);
    if (tn_is_call_to(&c->base, "relax.nn.conv2d_transpose") &&
        clml_extents(c->args.at[1]->type, w) == 4)
        return 2 * x * (double)(w[1] * w[2] * w[3]);
    if (tn_is_call_to(&c->base, "relax.matmul") && clml_extents(c->args.at[1]->type, w) == 2)
        return 2 * out * (double)w[0];
    if ((tn_is_call_to(&c->base, "relax.nn.max_pool2d") ||
         tn_is_call_to(&c->base, "relax.nn.avg_pool2d")) &&
        tn_call_ints(c, "pool_size", size, 2) == 2)
        return out * (double)(size[0] * size[1]);
    if (tn_is_call_to(&c->base, "relax.mean") ||
        tn_is_call_to(&c->base, "relax.nn.adaptive_avg_pool2d"))
        return x;
    if (tn_is_call_to(&c->base, "relax.nn.softmax"))
        return 5 * out;
    if (tn_is_call_to(&c->base, "relax.nn.batch_norm"))
        return 4 * x;
    return tn_is_call_to(&c->base, "relax.image.resize2d") ? 8 * out : 0;
}

typedef struct tally {
    double work;
    tnb_buf ops; /* their names */
} tally;

static tn_walk_step
count_call(void *user, const tn_node *n)
{
    tally *t = user;
    const tn_call *c = tn_as_call(n);
    const tn_op *op = c ? tn_call_op_of(c) : NULL;
    if (!op)
        return TN_WALK_ON;
    t->work += work_of(c);
    tnb_buf_puts(&t->ops, t->ops.n ? ", " : "");
    tnb_buf_puts(&t->ops,
                 strncmp(op->base.name, "relax.", 6) == 0 ? op->base.name + 6 : op->base.name);
    return TN_WALK_ON;
}

typedef struct caller {
    const char *symbol;
    const tn_call *call; /* the first one */
} caller;

static tn_walk_step
find_call(void *user, const tn_node *n)
{
    caller *s = user;
    const tn_call *c = tn_as_call(n);
    const tn_global_var *gv = c ? tn_as_global_var(c->op) : NULL;
    if (!gv || strcmp(gv->name, s->symbol) != 0)
        return TN_WALK_ON;
    s->call = c;
    return TN_WALK_STOP;
}

/* Whether the function stays with the extension; the log tells. */
static bool
is_worth(const tn_module *m, const char *symbol, const tn_function *fn, int64_t min_work)
{
    caller s = {.symbol = symbol};
    tally t = {0};
    double copied = elements(fn->ret);
    for (uint32_t i = 0; i < m->funcs.n && !s.call; i++)
        if (tn_is(m->funcs.at[i], TN_KIND_FUNCTION))
            tn_walk(m->funcs.at[i], 0, find_call, NULL, &s);
    for (uint32_t i = 0; i < fn->params.n; i++)
        if (!s.call || !tn_is(s.call->args.at[i], TN_KIND_CONSTANT))
            copied += elements(fn->params.at[i]->type);
    tn_walk(fn->body, 0, count_call, NULL, &t);
    bool worth = t.work >= (double)min_work * copied;
    tnb_log(TNB_LOG_INFO, "CLMLDispatch: %s: %s (%.1f operations an element copied)",
            worth ? symbol : "left to kernels", t.ops.s ? t.ops.s : "",
            copied ? t.work / copied : 0);
    tnb_buf_free(&t.ops);
    return worth;
}

const tn_module *
clml_drop_cheap(tn_ctx *ctx, const tn_module *m, int64_t min_work)
{
    tnb_strmap cheap; /* symbol -> itself */
    tnb_strmap_init(&cheap, tn_scratch(ctx));
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_function *fn = tn_as_function(m->funcs.at[i]);
        const char *symbol = tn_module_name(m, i),
                   *codegen = fn ? tn_dict_str(fn->attrs, "Codegen", "") : "";
        if (strcmp(codegen, "clml") == 0 && !is_worth(m, symbol, fn, min_work))
            tnb_strmap_set(&cheap, symbol, symbol);
        else if (strcmp(codegen, "clml5") == 0)
            tnb_log(TNB_LOG_INFO, "CLMLDispatch: %s: a product with a 4-bit matrix", symbol);
    }
    return tnk_put_back(ctx, m, &cheap);
}
