/* SPDX-License-Identifier: Apache-2.0 */
/* Assertions as the machine runs them, a part of LowerRuntimeBuiltin.
 *
 *     R.assert_op(n == m, n, m, format="{} rows, {} columns")      cls.check_shapes(n, m, k)
 *     R.assert_op(k > 0, format="no items")
 *
 * Neighbouring assertions over scalars become one host function that jumps over the messages of what holds.
 * Others, whose condition is a tensor, become a call of the runtime.
 */
#include "transform.h"

#include "tenon/core/builder.h"
#include "tenon/core/walk.h"

typedef struct lowering {
    tn_ctx *ctx;
    tn_builder *b;
} lowering;
typedef TNB_VEC(const tn_node *) node_vec;

/* An integer expression over variables, not a graph expression that gives a scalar. */
static bool
is_plain_scalar(const tn_expr *e)
{
    const tn_op *op = tn_is(e, TN_KIND_CALL) ? tn_call_op_of((const tn_call *)e) : NULL;
    return tn_is_scalar(e) && !tnb_dtype_is_float(tn_dtype_of(e)) &&
           (tn_is_var(e) || e->kind <= TN_KIND_LAST_SCALAR || (op && (op->flags & TN_OP_SCALAR)));
}

/* The assertion that a binding makes; NULL: it makes none, or not over scalars alone. */
static const tn_call *
scalar_assertion(const tn_node *binding)
{
    const tn_var_binding *vb = tn_as_var_binding(binding);
    const tn_call *c = vb ? tn_is_call_to(vb->value, "relax.assert_op") : NULL;
    for (uint32_t i = 0; c && i < c->args.n; i++)
        if (!is_plain_scalar(c->args.at[i]))
            return NULL;
    return c;
}

/* ("RuntimeError", ["text", value, "text"]) from a text with "{}" for the values. */
static const tn_node *
message_parts(tn_ctx *ctx, const tn_call *c)
{
    const char *format = tn_call_str(c, "format");
    node_vec parts = {NULL, 0, 0};
    tnb_buf text = {0};
    uint32_t next = 1;
    for (const char *p = format ? format : ""; *p; p++) {
        if (p[0] == '{' && p[1] == '}' && next < c->args.n) {
            if (text.n)
                TNB_PUSH(tn_scratch(ctx), parts, tn_string(ctx, text.s));
            TNB_PUSH(tn_scratch(ctx), parts, c->args.at[next++]);
            text.n = 0;
            p++;
            continue;
        }
        if ((*p == '{' || *p == '}') && p[1] == *p)
            p++;
        tnb_buf_putc(&text, *p);
    }
    if (text.n || !parts.n)
        TNB_PUSH(tn_scratch(ctx), parts, tn_string(ctx, text.s ? text.s : ""));
    tnb_buf_free(&text);
    return tn_array_of(ctx, tn_listv(ctx, tn_string(ctx, "RuntimeError"),
                                     tn_array_of(ctx, tn_list_of(ctx, parts.at, parts.n)), NULL));
}

/* The call of a host function that makes these assertions. */
static const tn_node *
checking_call(lowering *l, const tn_node *const *bindings, uint32_t n)
{
    tn_ctx *ctx = l->ctx;
    node_vec stmts = {NULL, 0, 0}, params = {NULL, 0, 0}, none = {NULL, 0, 0};
    for (uint32_t i = 0; i < n; i++) {
        const tn_call *c = scalar_assertion(bindings[i]);
        tn_loc old = tn_at(ctx, c->base.loc);
        TNB_PUSH(tn_scratch(ctx), stmts, tn_assert_of(ctx, c->args.at[0], message_parts(ctx, c)));
        tn_at(ctx, old);
    }
    const tn_stmt *body = tn_seq_of(ctx, tn_list_of(ctx, stmts.at, stmts.n));
    tn_list vars = tn_free_vars(ctx, body, false);
    tnb_ptrmap map;
    tnb_ptrmap_init(&map, tn_scratch(ctx));
    for (uint32_t i = 0; i < vars.n; i++) {
        const tn_expr *p = tn_var_dtype(ctx, tn_var_name(vars.at[i]), tn_dtype_of(vars.at[i]));
        tnb_ptrmap_set(&map, vars.at[i], (void *)(uintptr_t)p);
        TNB_PUSH(tn_scratch(ctx), params, p);
        TNB_PUSH(tn_scratch(ctx), none, NULL);
    }
    const tn_node *attrs =
        tn_dictv(ctx, "s_tir", tn_bool(ctx, true), "tirx.is_host_func", tn_bool(ctx, true), NULL);
    const tn_node *func =
        tn_prim_func_of(ctx, tn_list_of(ctx, params.at, params.n), tn_list_of(ctx, none.at, none.n),
                        tn_subst(ctx, body, &map), NULL, attrs);
    const tn_expr *gv = tn_builder_add_function(l->b, func, "check_shapes");
    const tn_type *nothing = tn_ty_tuple_of(ctx, (tn_list){0});
    const tn_expr *call = tn_call_of(ctx, gv, vars, NULL, (tn_list){0}, nothing);
    return tn_var_binding_of(ctx, tn_var_new(ctx, "_", nothing), call);
}

static const tn_node *
each_block(tn_rewriter *r, const tn_node *n)
{
    lowering *l = r->user;
    const tn_bindings_block *block = tn_as_bindings_block(n);
    node_vec out = {NULL, 0, 0};
    bool any = false;
    if (!block)
        return NULL;
    for (uint32_t i = 0, end; i < block->bindings.n; i = end) {
        for (end = i; end < block->bindings.n && scalar_assertion(block->bindings.at[end]);)
            end++;
        any |= end > i;
        if (end > i)
            TNB_PUSH(tn_scratch(r->ctx), out, checking_call(l, block->bindings.at + i, end - i));
        else
            TNB_PUSH(tn_scratch(r->ctx), out, block->bindings.at[end++]);
    }
    return any ? tn_binding_block_of(r->ctx, tn_list_of(r->ctx, out.at, out.n), false) : NULL;
}

/* Bindings other than assertions stay as they are: none is visited unless it has sequences of its own. */
static const tn_node *
flat_block(tn_rewriter *r, const tn_node *n)
{
    const tn_bindings_block *block = tn_as_bindings_block(n);
    for (uint32_t i = 0; block && i < block->bindings.n; i++) {
        const tn_var_binding *vb = tn_as_var_binding(block->bindings.at[i]);
        if (vb && (tn_is(vb->value, TN_KIND_IF_EXPR) || tn_is(vb->value, TN_KIND_FUNCTION) ||
                   tn_is(vb->value, TN_KIND_SEQ_EXPR)))
            return NULL;
    }
    const tn_node *now = each_block(r, n);
    return now || !block ? now : n;
}

const tn_module *
transform_lower_assertions(tn_ctx *ctx, const tn_module *m)
{
    lowering l = {.ctx = ctx, .b = tn_builder_new(ctx, m)};
    TNB_VEC(const char *) names = {0};
    node_vec funcs = {NULL, 0, 0};
    for (uint32_t i = 0; i < m->names.n; i++) {
        const tn_function *f = tn_as_function(m->funcs.at[i]);
        if (!f || !transform_is_imperative(f))
            continue;
        tn_rewriter r = {.ctx = ctx, .user = &l, .pre = flat_block, .post = each_block};
        const tn_node *now = tn_rewrite(&r, TN_NODE(f));
        if (tn_is_error(now))
            return NULL;
        if (now == TN_NODE(f))
            continue;
        TNB_PUSH(tn_scratch(ctx), names, tn_module_name(m, i));
        TNB_PUSH(tn_scratch(ctx), funcs, now);
    }
    return names.n ? tn_module_set_all(ctx, tn_builder_module(l.b), names.at, funcs.at, names.n)
                   : m;
}

const tn_expr *
transform_packed_assertion(tn_ctx *ctx, const tn_call *c)
{
    const char *format = tn_call_str(c, "format");
    tn_list args = tn_listv(ctx, c->args.at[0], tn_string(ctx, format ? format : ""), NULL);
    for (uint32_t i = 1; i < c->args.n; i++)
        args = tn_list_append(ctx, args, c->args.at[i]);
    return tn_call_packed(ctx, "relax.run.assert_op", args, c->base.type);
}
