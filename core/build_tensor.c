/* SPDX-License-Identifier: Apache-2.0 */
/* The tensor level: buffers, regions, blocks, statements, PrimFuncs. */
#include "private.h"

static bool
kind_is(tn_ctx *ctx, const tn_node *n, tn_kind kind, const char *what)
{
    if (tn_bad(ctx, n))
        return false;
    if (n->kind != (uint16_t)kind) {
        tn_error(ctx, 0, TNB_TYPE, "%s must be a %s, not %s", what, tn_kinds[kind].name,
                 tn_brief(ctx, n));
        return false;
    }
    return true;
}

static bool
is_stmt(tn_ctx *ctx, const tn_node *n, const char *what)
{
    if (tn_bad(ctx, n))
        return false;
    if (!tn_is_stmt(n))
        tn_error(ctx, 0, TNB_TYPE, "%s must be a statement, not %s", what, tn_brief(ctx, n));
    return tn_is_stmt(n);
}

/* A scalar of one lane; with `integer` an integer. */
static bool
is_scalar(tn_ctx *ctx, const tn_node *n, bool integer, const char *what)
{
    if (tn_bad(ctx, n))
        return false;
    bool ok = tn_is_scalar(n) && (!integer || tnb_dtype_is_int(tn_dtype_of(n)));
    if (!ok)
        tn_error(ctx, 0, TNB_TYPE, "%s must be %s, not %s", what,
                 integer ? "an integer expression" : "a scalar expression", tn_brief(ctx, n));
    return ok;
}

static bool
all_scalars(tn_ctx *ctx, tn_list l, bool integer, const char *what)
{
    for (uint32_t i = 0; i < l.n; i++)
        if (!is_scalar(ctx, l.at[i], integer, what))
            return false;
    return true;
}

/* ---- buffers and regions ---- */
const tn_node *
tn_buffer_of(tn_ctx *ctx, const tn_buffer *given)
{
    tn_buffer b = *given;
    b.base = (tn_node){.loc = given->base.loc};
    if (!all_scalars(ctx, b.shape, true, "an extent of a buffer") ||
        !all_scalars(ctx, b.strides, true, "a stride of a buffer") ||
        (b.elem_offset && !is_scalar(ctx, b.elem_offset, true, "the element offset of a buffer")))
        return tn_error_node(ctx);
    if (tn_bad_extents(ctx, b.shape, "a buffer"))
        return tn_error_node(ctx);
    if (b.strides.n && b.strides.n != b.shape.n)
        return tn_error(ctx, 0, TNB_SHAPE, "buffer '%s' has %u dimensions and %u strides",
                        b.name ? b.name : "", b.shape.n, b.strides.n);
    if (tnb_dtype_is_void(b.dtype))
        return tn_error(ctx, 0, TNB_TYPE, "buffer '%s' has no dtype", b.name ? b.name : "");
    b.name = tn_str(ctx, b.name ? b.name : "buffer");
    b.scope = tn_str(ctx, b.scope && *b.scope ? b.scope : "global");
    if (!b.align)
        b.align = 64;
    if (tn_is_int_const(b.elem_offset, 0) && b.offset_factor <= 1) {
        b.elem_offset = NULL; /* no offset, however it is written */
        b.offset_factor = 0;
    }
    if (b.elem_offset && !b.offset_factor)
        b.offset_factor = 1;
    if (!b.data)
        b.data = tn_var_new(ctx, b.name, tn_ty_ptr_of(ctx, b.dtype, b.scope));
    if (tn_is_error(b.data) || !tn_is_var(b.data) || !tn_is_scalar(b.data))
        return tn_is_error(b.data)
                   ? tn_error_node(ctx)
                   : tn_error(ctx, 0, TNB_TYPE,
                              "the data of buffer '%s' must be a pointer variable", b.name);
    return tn_make(ctx, TN_KIND_BUFFER, &b, NULL, true);
}

const tn_node *
tn_buffer_new(tn_ctx *ctx, const char *name, tn_list shape, tnb_dtype d, const char *scope)
{
    return tn_buffer_of(ctx,
                        &(tn_buffer){.name = name, .dtype = d, .shape = shape, .scope = scope});
}

const tn_node *
tn_range_of(tn_ctx *ctx, const tn_expr *min, const tn_expr *extent)
{
    if (!is_scalar(ctx, min, true, "the minimum of a range") ||
        !is_scalar(ctx, extent, true, "the extent of a range"))
        return tn_error_node(ctx);
    return TN_MAKE(ctx, TN_KIND_RANGE, range, NULL, .min = min, .extent = extent);
}

const tn_node *
tn_buffer_region_of(tn_ctx *ctx, const tn_node *buffer, tn_list ranges)
{
    if (!kind_is(ctx, buffer, TN_KIND_BUFFER, "what a region lies in"))
        return tn_error_node(ctx);
    for (uint32_t i = 0; i < ranges.n; i++)
        if (!kind_is(ctx, ranges.at[i], TN_KIND_RANGE, "a part of a region"))
            return tn_error_node(ctx);
    const tn_buffer *b = (const tn_buffer *)buffer;
    if (ranges.n != b->shape.n)
        return tn_error(ctx, 0, TNB_SHAPE, "buffer '%s' has %u dimensions, the region %u", b->name,
                        b->shape.n, ranges.n);
    return TN_MAKE(ctx, TN_KIND_BUFFER_REGION, buffer_region, NULL, .buffer = buffer,
                   .ranges = ranges);
}

const tn_node *
tn_region_full(tn_ctx *ctx, const tn_node *buffer)
{
    if (!kind_is(ctx, buffer, TN_KIND_BUFFER, "what a region lies in"))
        return tn_error_node(ctx);
    tn_list shape = ((const tn_buffer *)buffer)->shape;
    const tn_node **at = TNB_NEW_N(tn_scratch(ctx), const tn_node *, shape.n);
    for (uint32_t i = 0; i < shape.n; i++)
        at[i] = tn_range_of(ctx, tn_int_imm_of(ctx, tn_dtype_of(shape.at[i]), 0), shape.at[i]);
    return tn_buffer_region_of(ctx, buffer, (tn_list){at, shape.n});
}

const tn_node *
tn_region_point(tn_ctx *ctx, const tn_node *buffer, tn_list indices)
{
    const tn_node **at = TNB_NEW_N(tn_scratch(ctx), const tn_node *, indices.n);
    for (uint32_t i = 0; i < indices.n; i++) {
        if (!is_scalar(ctx, indices.at[i], true, "an index"))
            return tn_error_node(ctx);
        at[i] = tn_range_of(ctx, indices.at[i], tn_int_imm_of(ctx, tn_dtype_of(indices.at[i]), 1));
    }
    return tn_buffer_region_of(ctx, buffer, (tn_list){at, indices.n});
}

const tn_node *
tn_match_buffer_of(tn_ctx *ctx, const tn_node *buffer, const tn_node *source_region)
{
    if (!kind_is(ctx, buffer, TN_KIND_BUFFER, "what match_buffer makes") ||
        !kind_is(ctx, source_region, TN_KIND_BUFFER_REGION, "the source of match_buffer"))
        return tn_error_node(ctx);
    return TN_MAKE(ctx, TN_KIND_MATCH_BUFFER, match_buffer, NULL, .source = source_region,
                   .buffer = buffer);
}

const tn_node *
tn_iter_var_of(tn_ctx *ctx, const tn_node *dom, const tn_expr *var, tn_iter_kind kind,
               const char *tag)
{
    if ((dom && !kind_is(ctx, dom, TN_KIND_RANGE, "the domain of an iteration variable")) ||
        !kind_is(ctx, var, TN_KIND_VAR, "an iteration variable"))
        return tn_error_node(ctx);
    return TN_MAKE(ctx, TN_KIND_ITER_VAR, iter_var, NULL, .dom = dom, .var = var, .iter_kind = kind,
                   .thread_tag = tn_str(ctx, tag ? tag : ""));
}

/* ---- statements ---- */
const tn_stmt *
tn_buffer_store_of(tn_ctx *ctx, const tn_node *buffer, const tn_expr *value, tn_list indices)
{
    const tn_expr *as_load =
        tn_buffer_load_of(ctx, buffer, indices); /* checks the access; gives its dtype */
    if (tn_is_error(as_load) || !is_scalar(ctx, value, false, "a stored value"))
        return tn_error_node(ctx);
    tnb_dtype want = tn_dtype_of(as_load), got = tn_dtype_of(value);
    if (got.lanes == 1 && want.lanes > 1) {
        value = tn_broadcast_of(ctx, value, want.lanes);
        got.lanes = want.lanes;
    }
    if (!tnb_dtype_eq(want, got))
        value = tn_cast_to(ctx, want, value);
    if (tn_bad(ctx, value))
        return tn_error_node(ctx);
    return TN_MAKE(ctx, TN_KIND_BUFFER_STORE, buffer_store, NULL, .buffer = buffer, .value = value,
                   .indices = indices);
}

const tn_stmt *
tn_bind_of(tn_ctx *ctx, const tn_expr *var, const tn_expr *value)
{
    if (!kind_is(ctx, var, TN_KIND_VAR, "what a let binds") ||
        !is_scalar(ctx, value, false, "a bound value"))
        return tn_error_node(ctx);
    if (!tnb_dtype_eq(tn_dtype_of(var), tn_dtype_of(value)))
        return tn_error(ctx, 0, TNB_TYPE, "variable '%s' is %s, its value %s", tn_var_name(var),
                        tnb_dtype_print(tn_dtype_of(var)).s, tnb_dtype_print(tn_dtype_of(value)).s);
    return TN_MAKE(ctx, TN_KIND_BIND, bind, NULL, .value = value, .var = var);
}

const tn_stmt *
tn_alloc_buffer_of(tn_ctx *ctx, const tn_node *buffer, const tn_node *annotations)
{
    if (!kind_is(ctx, buffer, TN_KIND_BUFFER, "what is allocated") ||
        !tn_is_dict_or_null(ctx, annotations, "annotations"))
        return tn_error_node(ctx);
    return TN_MAKE(ctx, TN_KIND_ALLOC_BUFFER, alloc_buffer, NULL, .buffer = buffer,
                   .annotations = tn_norm_dict(annotations));
}

const tn_stmt *
tn_decl_buffer_of(tn_ctx *ctx, const tn_node *buffer)
{
    if (!kind_is(ctx, buffer, TN_KIND_BUFFER, "what is declared"))
        return tn_error_node(ctx);
    return TN_MAKE(ctx, TN_KIND_DECL_BUFFER, alloc_buffer, NULL, .buffer = buffer);
}

const tn_stmt *
tn_attr_stmt_of(tn_ctx *ctx, const tn_node *node, const char *key, const tn_expr *value,
                const tn_stmt *body)
{
    if (tn_is_error(node) || tn_bad(ctx, value) || !is_stmt(ctx, body, "the body of an attribute"))
        return tn_error_node(ctx);
    return TN_MAKE(ctx, TN_KIND_ATTR_STMT, attr_stmt, NULL, .node = node, .key = tn_str(ctx, key),
                   .value = value, .body = body);
}

static bool
is_condition(tn_ctx *ctx, const tn_expr *cond)
{
    if (!is_scalar(ctx, cond, false, "a condition"))
        return false;
    tnb_dtype d = tn_dtype_of(cond);
    if ((tnb_dtype_is_bool(d) || tnb_dtype_is_int(d)) && d.lanes == 1)
        return true;
    tn_error(ctx, 0, TNB_TYPE, "a condition must be bool, not %s", tnb_dtype_print(d).s);
    return false;
}

const tn_stmt *
tn_assert_of(tn_ctx *ctx, const tn_expr *cond, const tn_node *message)
{
    if (!is_condition(ctx, cond) || tn_bad(ctx, message))
        return tn_error_node(ctx);
    return TN_MAKE(ctx, TN_KIND_ASSERT, assert_stmt, NULL, .cond = cond, .message = message);
}

static const tn_stmt *
evaluate_as(tn_ctx *ctx, tn_kind kind, const tn_expr *value)
{
    if (tn_bad(ctx, value))
        return tn_error_node(ctx);
    return TN_MAKE(ctx, kind, evaluate, NULL, .value = value);
}

const tn_stmt *
tn_evaluate_of(tn_ctx *ctx, const tn_expr *value)
{
    return evaluate_as(ctx, TN_KIND_EVALUATE, value);
}

const tn_stmt *
tn_return_of(tn_ctx *ctx, const tn_expr *value)
{
    return evaluate_as(ctx, TN_KIND_RETURN, value);
}

const tn_stmt *
tn_seq_of(tn_ctx *ctx, tn_list stmts)
{
    TNB_VEC(const tn_node *) v = {0};
    tnb_arena *scratch = tn_scratch(ctx);
    for (uint32_t i = 0; i < stmts.n; i++) {
        if (!is_stmt(ctx, stmts.at[i], "a part of a sequence"))
            return tn_error_node(ctx);
        const tn_seq *inner = tn_as_seq(stmts.at[i]);
        if (!inner)
            TNB_PUSH(scratch, v, stmts.at[i]);
        for (uint32_t k = 0; inner && k < inner->stmts.n; k++)
            TNB_PUSH(scratch, v, inner->stmts.at[k]);
    }
    if (v.n == 1)
        return v.at[0];
    if (!v.n)
        return tn_evaluate_of(ctx, tn_i32(ctx, 0));
    return TN_MAKE(ctx, TN_KIND_SEQ, seq, NULL, .stmts = {v.at, v.n});
}

const tn_stmt *
tn_seqv(tn_ctx *ctx, ...)
{
    TNB_VEC(const tn_node *) v = {0};
    va_list ap;
    va_start(ap, ctx);
    const tn_node *s;
    while ((s = va_arg(ap, const tn_node *)))
        TNB_PUSH(tn_scratch(ctx), v, s);
    va_end(ap);
    return tn_seq_of(ctx, (tn_list){v.at, v.n});
}

const tn_stmt *
tn_if_stmt_of(tn_ctx *ctx, const tn_expr *cond, const tn_stmt *then_case, const tn_stmt *else_case)
{
    if (!is_condition(ctx, cond) || !is_stmt(ctx, then_case, "a branch") ||
        (else_case && !is_stmt(ctx, else_case, "a branch")))
        return tn_error_node(ctx);
    return TN_MAKE(ctx, TN_KIND_IF_STMT, if_stmt, NULL, .cond = cond, .then_case = then_case,
                   .else_case = else_case);
}

const tn_stmt *
tn_for_of(tn_ctx *ctx, const tn_expr *var, const tn_expr *min, const tn_expr *extent,
          tn_for_kind kind, const char *thread_tag, const tn_node *annotations, const tn_stmt *body)
{
    if (!kind_is(ctx, var, TN_KIND_VAR, "a loop variable") ||
        !is_scalar(ctx, min, true, "the start of a loop") ||
        !is_scalar(ctx, extent, true, "the extent of a loop") ||
        !is_stmt(ctx, body, "the body of a loop") ||
        !tn_is_dict_or_null(ctx, annotations, "annotations"))
        return tn_error_node(ctx);
    tnb_dtype d = tn_dtype_of(var);
    if (!tnb_dtype_eq(d, tn_dtype_of(min)) || !tnb_dtype_eq(d, tn_dtype_of(extent)))
        return tn_error(ctx, 0, TNB_TYPE,
                        "loop variable '%s' is %s, but the loop runs from %s over %s",
                        tn_var_name(var), tnb_dtype_print(d).s, tnb_dtype_print(tn_dtype_of(min)).s,
                        tnb_dtype_print(tn_dtype_of(extent)).s);
    bool bound = kind == TN_FOR_THREAD_BINDING;
    if (bound != (thread_tag && *thread_tag))
        return tn_error(ctx, 0, TNB_INVALID,
                        bound ? "a bound loop needs a thread tag"
                              : "only a bound loop has a thread tag");
    return TN_MAKE(ctx, TN_KIND_FOR, for_loop, NULL, .min = min, .extent = extent, .var = var,
                   .for_kind = kind, .thread_tag = tn_str(ctx, bound ? thread_tag : ""),
                   .annotations = tn_norm_dict(annotations), .body = body);
}

const tn_stmt *
tn_while_of(tn_ctx *ctx, const tn_expr *cond, const tn_stmt *body)
{
    if (!is_condition(ctx, cond) || !is_stmt(ctx, body, "the body of a loop"))
        return tn_error_node(ctx);
    return TN_MAKE(ctx, TN_KIND_WHILE, while_loop, NULL, .cond = cond, .body = body);
}

/* ---- blocks ---- */
static bool
all_kind(tn_ctx *ctx, tn_list l, tn_kind kind, const char *what)
{
    for (uint32_t i = 0; i < l.n; i++)
        if (!kind_is(ctx, l.at[i], kind, what))
            return false;
    return true;
}

const tn_node *
tn_block_of(tn_ctx *ctx, const tn_block *given)
{
    tn_block b = *given;
    b.base = (tn_node){.loc = given->base.loc};
    if (!all_kind(ctx, b.iters, TN_KIND_ITER_VAR, "an iteration variable of a block") ||
        !all_kind(ctx, b.allocs, TN_KIND_BUFFER, "an allocation of a block") ||
        !all_kind(ctx, b.match_buffers, TN_KIND_MATCH_BUFFER, "a match_buffer of a block") ||
        !all_kind(ctx, b.reads, TN_KIND_BUFFER_REGION, "a region that a block reads") ||
        !all_kind(ctx, b.writes, TN_KIND_BUFFER_REGION, "a region that a block writes") ||
        !tn_is_dict_or_null(ctx, b.annotations, "annotations") ||
        (b.init && !is_stmt(ctx, b.init, "the init of a block")) ||
        !is_stmt(ctx, b.body, "the body of a block"))
        return tn_error_node(ctx);
    b.name = tn_str(ctx, b.name ? b.name : "");
    b.annotations = tn_norm_dict(b.annotations);
    return tn_make(ctx, TN_KIND_BLOCK, &b, NULL, true);
}

const tn_stmt *
tn_block_realize_of(tn_ctx *ctx, tn_list values, const tn_expr *predicate, const tn_node *block)
{
    if (!predicate)
        predicate = tn_bool(ctx, true);
    if (!kind_is(ctx, block, TN_KIND_BLOCK, "what is realized") || !is_condition(ctx, predicate) ||
        !all_scalars(ctx, values, true, "the value of an iteration variable"))
        return tn_error_node(ctx);
    const tn_block *b = (const tn_block *)block;
    if (values.n != b->iters.n)
        return tn_error(ctx, 0, TNB_INVALID, "block '%s' has %u iteration variables, but %u values",
                        b->name, b->iters.n, values.n);
    return TN_MAKE(ctx, TN_KIND_BLOCK_REALIZE, block_realize, NULL, .values = values,
                   .predicate = predicate, .block = block);
}

const tn_node *
tn_prim_func_of(tn_ctx *ctx, tn_list params, tn_list buffers, const tn_stmt *body,
                const tn_type *ret, const tn_node *attrs)
{
    if (!all_kind(ctx, params, TN_KIND_VAR, "a parameter") || tn_is_error(ret) ||
        !is_stmt(ctx, body, "the body of a tensor program") ||
        !tn_is_dict_or_null(ctx, attrs, "the attributes of a tensor program"))
        return tn_error_node(ctx);
    if (buffers.n != params.n)
        return tn_error(ctx, 0, TNB_INTERNAL, "%u parameters with %u buffer entries", params.n,
                        buffers.n);
    for (uint32_t i = 0; i < buffers.n; i++) {
        if (buffers.at[i] && !kind_is(ctx, buffers.at[i], TN_KIND_BUFFER, "a parameter's buffer"))
            return tn_error_node(ctx);
        if (!tn_is_scalar(params.at[i]))
            return tn_error(ctx, 0, TNB_TYPE, "parameter '%s' must be a scalar or a handle, not %s",
                            tn_var_name(params.at[i]), tn_brief(ctx, params.at[i]->type));
    }
    return TN_MAKE(ctx, TN_KIND_PRIM_FUNC, prim_func, NULL, .params = params, .buffers = buffers,
                   .ret = ret, .attrs = tn_norm_dict(attrs), .body = body);
}
