/* SPDX-License-Identifier: Apache-2.0 */
/* Graph expressions, bindings, blocks and functions. */
#include "private.h"

static const tn_expr *
finish(tn_ctx *ctx, tn_kind kind, void *fields)
{
    tn_node *n = fields;
    n->kind = (uint16_t)kind;
    const tn_type *t = tn_infer(ctx, n);
    return tn_is_error(t) ? t : tn_make(ctx, kind, fields, t, true);
}

static bool
is_expr(tn_ctx *ctx, const tn_node *n, const char *what)
{
    if (tn_bad(ctx, n))
        return false;
    if (n->kind < TN_KIND_FIRST_EXPR || n->kind > TN_KIND_LAST_EXPR) {
        tn_error(ctx, 0, TNB_TYPE, "%s must be an expression, not %s", what, tn_brief(ctx, n));
        return false;
    }
    return true;
}

static bool
all_exprs(tn_ctx *ctx, tn_list l, const char *what)
{
    for (uint32_t i = 0; i < l.n; i++)
        if (!is_expr(ctx, l.at[i], what))
            return false;
    return true;
}

const tn_expr *
tn_constant_of(tn_ctx *ctx, const tn_data *d)
{
    if (!d)
        return tn_error_node(ctx); /* its maker has told why */
    return finish(ctx, TN_KIND_CONSTANT, &(tn_constant){.data = d});
}

const tn_expr *
tn_scalar_constant(tn_ctx *ctx, tnb_dtype d, double v)
{
    void *p;
    const tn_data *data = tn_data_new(ctx, d, 0, NULL, &p);
    if (!data)
        return tn_error_node(ctx);
    if (!tnb_store_f64(p, d, 0, v))
        return tn_error(ctx, 0, TNB_UNSUPPORTED, "constants of dtype %s are not supported",
                        tnb_dtype_print(d).s);
    return tn_constant_of(ctx, data);
}

const tn_expr *
tn_shape_expr_of(tn_ctx *ctx, tn_list values)
{
    const tn_node **at = NULL;
    for (uint32_t i = 0; i < values.n; i++) {
        const tn_expr *v = values.at[i];
        if (tn_bad(ctx, v))
            return tn_error_node(ctx);
        tnb_dtype d = tn_dtype_of(v);
        if (tnb_dtype_eq(d, TNB_I64))
            continue;
        int64_t k;
        if (!tnb_dtype_is_int(d) || !tn_int_value(v, &k))
            return tn_error(ctx, 0, TNB_TYPE, "extent %u of a shape must be int64, not %s", i,
                            tn_is_scalar(v) ? tnb_dtype_print(d).s : tn_brief(ctx, v));
        if (!at)
            at = tnb_dup(tn_scratch(ctx), values.at, values.n * sizeof *at);
        at[i] = tn_i64(ctx, k);
    }
    return finish(ctx, TN_KIND_SHAPE_EXPR,
                  &(tn_shape_expr){.values = {at ? at : values.at, values.n}});
}

const tn_expr *
tn_tuple_of(tn_ctx *ctx, tn_list fields)
{
    if (!all_exprs(ctx, fields, "a field of a tuple"))
        return tn_error_node(ctx);
    return finish(ctx, TN_KIND_TUPLE, &(tn_tuple){.fields = fields});
}

const tn_expr *
tn_tuple_item(tn_ctx *ctx, const tn_expr *t, int64_t index)
{
    if (!is_expr(ctx, t, "a tuple"))
        return tn_error_node(ctx);
    const tn_tuple *literal = tn_as_tuple(t);
    if (literal && index >= 0 && index < (int64_t)literal->fields.n)
        return literal->fields.at[index];
    return finish(ctx, TN_KIND_TUPLE_GET, &(tn_tuple_get){.tuple = t, .index = index});
}

/* ---- calls ---- */
static uint32_t
count_args(const tn_op *op)
{
    uint32_t n = 0;
    while (op->args && op->args[n].name)
        n++;
    return n;
}

static bool
check_arg_count(tn_ctx *ctx, const tn_op *op, uint32_t got)
{
    if (!op->args)
        return true; /* the operator does not say */
    uint32_t max = count_args(op), min = op->min_args < 0 ? max : (uint32_t)op->min_args;
    if (got >= min && (got <= max || (op->flags & TN_OP_VARIADIC)))
        return true;
    if (op->flags & TN_OP_VARIADIC)
        tn_error(ctx, 0, TNB_INVALID, "%s takes at least %u argument%s, not %u", op->base.name, min,
                 min == 1 ? "" : "s", got);
    else if (min == max)
        tn_error(ctx, 0, TNB_INVALID, "%s takes %u argument%s, not %u", op->base.name, max,
                 max == 1 ? "" : "s", got);
    else
        tn_error(ctx, 0, TNB_INVALID, "%s takes %u to %u arguments, not %u", op->base.name, min,
                 max, got);
    return false;
}

const tn_expr *
tn_call_of(tn_ctx *ctx, const tn_expr *op, tn_list args, const tn_node *attrs, tn_list ty_args,
           const tn_type *type)
{
    if (!is_expr(ctx, op, "the callee") || tn_is_error(type) ||
        !all_exprs(ctx, args, "an argument") || tn_bad_list(ctx, ty_args) ||
        !tn_is_dict_or_null(ctx, attrs, "the attributes of a call"))
        return tn_error_node(ctx);
    if (tn_is(op, TN_KIND_OP_REF)) {
        const tn_op *o = ((const tn_op_ref *)op)->op;
        if (!type && !check_arg_count(ctx, o, args.n))
            return tn_error_node(ctx);
        if (!(o->flags & TN_OP_SCALAR) && o->min_args >= 0 && !(o->flags & TN_OP_VARIADIC))
            args = tn_complete_args(ctx, o, args);
        if (!(o->flags & TN_OP_SCALAR) && (attrs || o->attrs)) {
            attrs = tn_op_attrs(ctx, o, attrs);
            if (!attrs || tn_is_error(attrs))
                return tn_error_node(ctx);
        }
    }
    tn_call c = {.op = op, .args = args, .attrs = tn_norm_dict(attrs), .ty_args = ty_args};
    c.base.type = type;
    c.base.kind = TN_KIND_CALL;
    if (!type)
        type = tn_infer(ctx, &c.base);
    return tn_is_error(type) ? type : tn_make(ctx, TN_KIND_CALL, &c, type, true);
}

const tn_expr *
tn_call_op(tn_ctx *ctx, const char *name, tn_list args, const tn_node *attrs)
{
    tnb_err err = {0};
    bool is_full = strncmp(name, "relax.", 6) == 0;
    const char *full = is_full ? name : tn_strf(ctx, "relax.%s", name);
    const tn_op *op = tn_find_op(ctx->reg, full, is_full ? &err : NULL);
    if (!op && !is_full) /* an operator of another dialect */
        op = tn_find_op(ctx->reg, name, NULL);
    if (!op && !is_full)
        op = tn_find_op(ctx->reg, full, &err);
    if (!op)
        return tn_missing(ctx, "op", full, &err);
    return tn_call_of(ctx, tn_op_ref_of(ctx, op), args, attrs, (tn_list){0}, NULL);
}

const tn_expr *
tn_call_opv(tn_ctx *ctx, const char *op, const tn_node *attrs, ...)
{
    TNB_VEC(const tn_node *) v = {0};
    va_list ap;
    va_start(ap, attrs);
    const tn_node *a;
    while ((a = va_arg(ap, const tn_node *)))
        TNB_PUSH(tn_scratch(ctx), v, a);
    va_end(ap);
    return tn_call_op(ctx, op, (tn_list){v.at, v.n}, attrs);
}

const tn_expr *
tn_call_tir(tn_ctx *ctx, const tn_expr *gv, tn_list args, const tn_type *out)
{
    const tn_expr *tuple = tn_tuple_of(ctx, args);
    if (tn_bad(ctx, gv) || tn_bad(ctx, out) || tn_is_error(tuple))
        return tn_error_node(ctx);
    const tn_node *both[] = {gv, tuple};
    const tn_op *op = tn_find_op(ctx->reg, "relax.call_tir", NULL);
    return tn_call_of(ctx, tn_op_ref_of(ctx, op), (tn_list){both, 2}, NULL, (tn_list){&out, 1},
                      NULL);
}

const tn_expr *
tn_call_packed(tn_ctx *ctx, const char *name, tn_list args, const tn_type *ret)
{
    if (tn_is_error(ret))
        return ret;
    tn_list types = {&ret, ret ? 1u : 0u};
    return tn_call_of(ctx, tn_extern_func_of(ctx, name), args, NULL, types, NULL);
}

const tn_call *
tn_is_call_to(const tn_expr *e, const char *name)
{
    const tn_call *c = tn_as_call(e);
    const tn_op *op = c ? tn_call_op_of(c) : NULL;
    return op && strcmp(op->base.name, name) == 0 ? c : NULL;
}

bool
tn_call_is_pure(const tn_call *c)
{
    const tn_op *op = tn_call_op_of(c);
    if (op)
        return !(op->flags & TN_OP_IMPURE);
    const tn_ty_func *f = tn_as_ty_func(c->op->type);
    return f && f->pure;
}

bool
tn_call_is_pure_in(const tn_module *m, const tn_call *c)
{
    const tn_global_var *gv = tn_as_global_var(c->op);
    const tn_node *f = gv && m ? tn_module_get(m, gv->name) : NULL;
    if (tn_is(f, TN_KIND_FUNCTION))
        return ((const tn_function *)f)->pure != 0;
    const tn_prim_func *p = tn_as_prim_func(f);
    for (uint32_t i = 0; p && i < p->params.n; i++)
        if (p->buffers.at[i] || tn_dtype_of(p->params.at[i]).code == TNB_HANDLE)
            return false; /* writes into its arguments */
    return p ? p->ret != NULL : tn_call_is_pure(c);
}

/* ---- control ---- */
const tn_expr *
tn_if_expr_of(tn_ctx *ctx, const tn_expr *cond, const tn_expr *then_branch,
              const tn_expr *else_branch)
{
    if (!is_expr(ctx, cond, "a condition") || !is_expr(ctx, then_branch, "a branch") ||
        !is_expr(ctx, else_branch, "a branch"))
        return tn_error_node(ctx);
    tnb_dtype d = tn_type_dtype(cond->type);
    bool unknown = tn_is(cond->type, TN_KIND_TY_ANY) ||
                   (tn_is(cond->type, TN_KIND_TY_TENSOR) && tnb_dtype_is_void(d));
    tn_list dims = {0};
    bool one = tn_type_dims(cond->type, &dims) || tn_type_ndim(cond->type) <= 0;
    for (uint32_t i = 0; i < dims.n; i++)
        one &= tn_is_int_const(dims.at[i], 1);
    if (!unknown && (!tnb_dtype_is_bool(d) || !one))
        return tn_error(ctx, 0, TNB_TYPE,
                        "a condition must be a scalar bool or a tensor of one, not %s",
                        tn_brief(ctx, cond->type));
    return finish(ctx, TN_KIND_IF_EXPR,
                  &(tn_if_expr){.cond = cond,
                                .then_branch = then_branch,
                                .else_branch = else_branch});
}

/* Neighbouring ordinary blocks are one, and none is empty: text cannot tell otherwise. */
tn_list
tn_merge_blocks(tn_ctx *ctx, tn_list blocks)
{
    bool change = false;
    for (uint32_t i = 0; i < blocks.n && !change; i++)
        change = tn_is(blocks.at[i], TN_KIND_BINDING_BLOCK) &&
                 (!((const tn_bindings_block *)blocks.at[i])->bindings.n ||
                  (i && tn_is(blocks.at[i - 1], TN_KIND_BINDING_BLOCK)));
    if (!change)
        return blocks;
    tn_node_vec out = {0}, run = {0};
    tnb_arena *scratch = tn_scratch(ctx);
    for (uint32_t i = 0; i <= blocks.n; i++) {
        bool plain = i < blocks.n && tn_is(blocks.at[i], TN_KIND_BINDING_BLOCK);
        if (!plain && run.n) {
            TNB_PUSH(scratch, out, tn_binding_block_of(ctx, (tn_list){run.at, run.n}, false));
            run.n = 0;
        }
        if (i == blocks.n)
            break;
        tn_list l = plain ? ((const tn_bindings_block *)blocks.at[i])->bindings : (tn_list){0};
        for (uint32_t k = 0; k < l.n; k++)
            TNB_PUSH(scratch, run, l.at[k]);
        if (!plain)
            TNB_PUSH(scratch, out, blocks.at[i]);
    }
    return tn_list_of(ctx, out.at, out.n);
}

const tn_expr *
tn_seq_expr_of(tn_ctx *ctx, tn_list blocks, const tn_expr *body)
{
    if (!is_expr(ctx, body, "the result of a sequence") || tn_bad_list(ctx, blocks))
        return tn_error_node(ctx);
    for (uint32_t i = 0; i < blocks.n; i++)
        if (!tn_as_bindings_block(blocks.at[i]))
            return tn_error(ctx, 0, TNB_TYPE, "a sequence consists of binding blocks, not %s",
                            tn_brief(ctx, blocks.at[i]));
    const tn_ty_tuple *t = tn_is(body, TN_KIND_VAR) ? tn_as_ty_tuple(body->type) : NULL;
    if (t && !t->fields.n)
        body = tn_tuple_of(ctx, (tn_list){0});
    return finish(ctx, TN_KIND_SEQ_EXPR,
                  &(tn_seq_expr){.blocks = tn_merge_blocks(ctx, blocks), .body = body});
}

/* ---- bindings ---- */
static bool
is_binding_var(tn_ctx *ctx, const tn_node *var)
{
    if (tn_bad(ctx, var))
        return false;
    if (!tn_is_var(var))
        tn_error(ctx, 0, TNB_TYPE, "a binding defines a variable, not %s", tn_brief(ctx, var));
    return tn_is_var(var);
}

const tn_node *
tn_var_binding_of(tn_ctx *ctx, const tn_expr *var, const tn_expr *value)
{
    if (!is_binding_var(ctx, var) || !is_expr(ctx, value, "a bound value"))
        return tn_error_node(ctx);
    return TN_MAKE(ctx, TN_KIND_VAR_BINDING, var_binding, NULL, .value = value, .var = var);
}

const tn_node *
tn_match_cast_of(tn_ctx *ctx, const tn_expr *var, const tn_expr *value, const tn_type *to)
{
    if (!is_binding_var(ctx, var) || !is_expr(ctx, value, "a cast value") || tn_bad(ctx, to))
        return tn_error_node(ctx);
    if (!tn_is_type(to))
        return tn_error(ctx, 0, TNB_TYPE, "match_cast needs a type, not %s", tn_brief(ctx, to));
    return TN_MAKE(ctx, TN_KIND_MATCH_CAST, match_cast, NULL, .value = value, .to = to, .var = var);
}

const tn_node *
tn_binding_block_of(tn_ctx *ctx, tn_list bindings, bool dataflow)
{
    for (uint32_t i = 0; i < bindings.n; i++) {
        if (tn_bad(ctx, bindings.at[i]))
            return tn_error_node(ctx);
        if (!tn_as_var_binding(bindings.at[i]) && !tn_as_match_cast(bindings.at[i]))
            return tn_error(ctx, 0, TNB_TYPE, "a block consists of bindings, not %s",
                            tn_brief(ctx, bindings.at[i]));
    }
    return TN_MAKE(ctx, dataflow ? TN_KIND_DATAFLOW_BLOCK : TN_KIND_BINDING_BLOCK, bindings_block,
                   NULL, .bindings = bindings);
}

/* ---- functions ---- */
struct own {
    tn_ctx *ctx;
    tnb_ptrmap free_in_type;
};

/* Variables defined in the bindings of a body: bound ones and those that match_cast introduces. */
static tn_walk_step
drop_defined(void *user, const tn_node *n)
{
    struct own *o = user;
    tnb_ptrmap *free_in_type = &o->free_in_type;
    const tn_match_cast *m = tn_as_match_cast(n);
    if (m) {
        tn_list symbols = tn_symbols_of_type(o->ctx, m->to);
        for (uint32_t i = 0; i < symbols.n; i++)
            tnb_ptrmap_remove(free_in_type, symbols.at[i]);
        tnb_ptrmap_remove(free_in_type, m->var);
    } else if (tn_is(n, TN_KIND_VAR_BINDING)) {
        tnb_ptrmap_remove(free_in_type, ((const tn_var_binding *)n)->var);
    }
    return n->kind == TN_KIND_SEQ_EXPR || n->kind == TN_KIND_BINDING_BLOCK ||
                   n->kind == TN_KIND_DATAFLOW_BLOCK
               ? TN_WALK_ON
               : TN_WALK_SKIP;
}

/* The body's type without what the body itself defines; symbols of the parameters stay. */
static const tn_type *
result_type(tn_ctx *ctx, tn_list params, const tn_expr *body)
{
    const tn_type *t = body->type;
    if (!t || (t->flags & TN_FLAG_CLOSED))
        return t;
    struct own own = {.ctx = ctx};
    tnb_ptrmap *keep = &own.free_in_type;
    tnb_ptrmap_init(keep, tn_scratch(ctx));
    tn_list used = tn_free_vars(ctx, t, false);
    for (uint32_t i = 0; i < used.n; i++)
        tnb_ptrmap_set(keep, used.at[i], keep);
    tn_walk(body, 0, drop_defined, NULL, &own);
    for (uint32_t i = 0; i < params.n; i++) {
        tn_list symbols = tn_free_vars(ctx, params.at[i]->type, false);
        for (uint32_t k = 0; k < symbols.n; k++)
            tnb_ptrmap_set(keep, symbols.at[k], keep);
    }
    TNB_VEC(const tn_node *) v = {0};
    for (uint32_t i = 0; i < keep->n; i++)
        if (keep->at[i].key)
            TNB_PUSH(tn_scratch(ctx), v, keep->at[i].key);
    return tn_type_erase(ctx, t, (tn_list){v.at, v.n});
}

const tn_expr *
tn_function_of(tn_ctx *ctx, tn_list params, const tn_expr *body, const tn_type *ret, bool pure,
               const tn_node *attrs)
{
    if (!is_expr(ctx, body, "the body of a function") || tn_is_error(ret) ||
        !tn_is_dict_or_null(ctx, attrs, "the attributes of a function"))
        return tn_error_node(ctx);
    for (uint32_t i = 0; i < params.n; i++) {
        if (tn_bad(ctx, params.at[i]))
            return tn_error_node(ctx);
        if (!tn_is(params.at[i], TN_KIND_VAR))
            return tn_error(ctx, 0, TNB_TYPE, "parameter %u must be a variable, not %s", i,
                            tn_brief(ctx, params.at[i]));
    }
    if (body->kind != TN_KIND_SEQ_EXPR) {
        body = tn_seq_expr_of(ctx, (tn_list){0}, body);
        if (tn_is_error(body))
            return body;
    }
    if (!ret)
        ret = result_type(ctx, params, body);
    return finish(ctx, TN_KIND_FUNCTION,
                  &(tn_function){.params = params,
                                 .ret = ret,
                                 .attrs = tn_norm_dict(attrs),
                                 .pure = pure,
                                 .body = body});
}
