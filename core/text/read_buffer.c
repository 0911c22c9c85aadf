/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers as text: T.Buffer, T.match_buffer, T.decl_buffer and the ways of allocating one. All take
 * the same arguments after the shape.
 */
#include "reader.h"

/* ---- extents ---- */
/* One extent: as written. In a signature a string may define a variable of the function, of the dtype
 * that the body declares it with; one of the same name outside, that of a TypeVar, is another. */
static const tn_expr *
extent(reader *r, const ast *e, value v)
{
    if (v.kind == V_STR) {
        const value *known = rd_find(r, v.s);
        if (r->defining && (!known || known->kind == V_TYPE_VAR) && *v.s &&
            !strpbrk(v.s, " +-*/%()[],.\"'")) {
            const tn_type *t = r->tensor ? tnb_ptrmap_get(&r->tensor->declared, v.s) : NULL;
            rd_at(r, e);
            rd_bind(r, v.s,
                    rd_node(t ? tn_var_new(r->ctx, v.s, t)
                              : tn_var_dtype(r->ctx, v.s, known ? TNB_I64 : TNB_I32)));
        }
        uint32_t before = r->src.errors;
        const ast *part = text_parse_expr(&r->src, v.s, strlen(v.s), e->line,
                                          e->kind == AST_STR ? e->column + 1 : e->column);
        if (!part) {
            if (r->src.errors == before)
                rd_error(r, e, TNB_FORMAT, "'%s' is not an expression", v.s);
            return NULL;
        }
        v = rd_eval(r, part);
    }
    const tn_expr *x = rd_scalar(r, e, v);
    if (x && !tnb_dtype_is_int(tn_dtype_of(x))) {
        rd_error(r, e, TNB_TYPE, "an extent must be an integer, not %s",
                 tnb_dtype_print(tn_dtype_of(x)).s);
        return NULL;
    }
    return x;
}

static bool
extents(reader *r, const ast *e, value v, node_vec *out)
{
    const value *items;
    uint32_t n;
    if (!rd_items(r, e, v, true, &items, &n))
        return false;
    bool each = (e->kind == AST_TUPLE || e->kind == AST_LIST) && e->list.n == n;
    for (uint32_t i = 0; i < n; i++) {
        const tn_expr *x = extent(r, each ? e->list.at[i] : e, items[i]);
        if (!x)
            return false;
        TNB_PUSH(r->arena, *out, x);
    }
    return true;
}

/* strides=["s0", "s1"]: names define variables of the shape's dtype. */
static bool
strides(reader *r, const ast *e, value v, const node_vec *shape, node_vec *out)
{
    const value *items;
    uint32_t n;
    if (v.kind == V_NONE)
        return true;
    if (!rd_items(r, e, v, false, &items, &n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const tn_expr *x;
        if (items[i].kind == V_STR) {
            rd_at(r, e);
            x = tn_var_dtype(r->ctx, items[i].s, shape->n ? tn_dtype_of(shape->at[0]) : TNB_I32);
            rd_bind(r, items[i].s, rd_node(x));
        } else {
            x = rd_scalar(r, e, items[i]);
        }
        if (!x)
            return false;
        TNB_PUSH(r->arena, *out, x);
    }
    return true;
}

/* ---- the fields ---- */
typedef struct buffer_fields {
    tn_buffer b;
    const tn_node *annotations;
} buffer_fields;

static bool
int_field(reader *r, call_args *a, const char *key, bool positional, int64_t *out)
{
    value v;
    const ast *where = a->call;
    if (!(positional ? rd_arg(r, a, key, &v, &where) : rd_keyword(r, a, key, &v, &where)) ||
        v.kind == V_NONE)
        return true;
    return rd_int(r, where, v, out);
}

/* What follows the first argument: (shape, dtype, data, strides, elem_offset, scope, align, ...).
 */
static bool
fields(reader *r, call_args *a, const char *hint, bool short_form, buffer_fields *out)
{
    value shape, v;
    const ast *shape_at = a->call, *where = a->call;
    tn_buffer *b = &out->b;
    node_vec dims = {0}, steps = {0}, separators = {0};
    int64_t align = -1, factor = 0;
    b->dtype = TNB_F32;
    b->name = hint;
    if (!rd_need(r, a, "shape", &shape, &shape_at) || !extents(r, shape_at, shape, &dims))
        return false;
    if (rd_arg(r, a, "dtype", &v, &where) && !rd_dtype(r, where, v, &b->dtype))
        return false;
    if (short_form) { /* alloc_buffer's old order and the short kinds: scope is third */
        if (a->used < a->call->list.n) {
            rd_arg(r, a, NULL, &v, &where);
            if (v.kind == V_STR)
                b->scope = v.s;
            else if (v.kind != V_NONE && !(b->data = rd_scalar(r, where, v)))
                return false;
        }
    }
    if (!b->data && rd_arg(r, a, "data", &v, &where) && v.kind != V_NONE &&
        !(b->data = rd_scalar(r, where, v)))
        return false;
    if (rd_arg(r, a, "strides", &v, &where) && !strides(r, where, v, &dims, &steps))
        return false;
    bool has_offset = rd_arg(r, a, "elem_offset", &v, &where);
    if (has_offset && v.kind != V_NONE) {
        if (v.kind == V_STR) {
            b->elem_offset = tn_var_dtype(r->ctx, v.s, dims.n ? tn_dtype_of(dims.at[0]) : TNB_I32);
            rd_bind(r, v.s, rd_node(b->elem_offset));
        } else if (!(b->elem_offset = rd_scalar(r, where, v))) {
            return false;
        }
    }
    if (rd_arg(r, a, "scope", &v, &where) && v.kind != V_NONE && !(b->scope = rd_text(r, where, v)))
        return false;
    if (!int_field(r, a, "align", true, &align) || !int_field(r, a, "offset_factor", true, &factor))
        return false;
    if (rd_keyword(r, a, "buffer_type", &v, &where) && v.kind == V_ERROR)
        return false;
    rd_keyword(r, a, "layout", &v, &where);
    if (rd_keyword(r, a, "axis_separators", &v, &where) && v.kind != V_NONE) {
        const tn_node *list = rd_attr(r, where, v);
        const tn_array *items = tn_as_array(list);
        if (!items) {
            if (list)
                rd_error(r, where, TNB_TYPE, "axis_separators must be a list of integers");
            return false;
        }
        for (uint32_t i = 0; i < items->items.n; i++)
            TNB_PUSH(r->arena, separators, items->items.at[i]);
    }
    if (rd_keyword(r, a, "annotations", &v, &where) && v.kind != V_NONE &&
        !(out->annotations = rd_dict(r, where, v)))
        return false;
    if (!rd_args_end(r, a))
        return false;
    /* an offset that nobody named is a variable when its divisor is demanded */
    if (!has_offset && factor)
        b->elem_offset = tn_var_dtype(r->ctx, tn_strf(r->ctx, "%s_elem_offset", hint),
                                      dims.n ? tn_dtype_of(dims.at[0]) : TNB_I32);
    b->shape = (tn_list){dims.at, dims.n};
    b->strides = (tn_list){steps.at, steps.n};
    b->separators = (tn_list){separators.at, separators.n};
    b->align = align <= 0 ? 64 : align;
    b->offset_factor = factor;
    return true;
}

/* ---- match_buffer ---- */
static value
match_param(reader *r, const ast *e, const tn_expr *param, const tn_node *buffer)
{
    tensor_scope *t = r->tensor;
    uintptr_t index = (uintptr_t)tnb_ptrmap_get(&t->params, param);
    if (!index)
        return rd_error(r, e, TNB_INVALID,
                        "'%s' is not a parameter that a buffer can be matched with",
                        tn_var_name(param));
    if (t->param_buffers[index - 1])
        return rd_error(r, e, TNB_INVALID, "parameter '%s' is matched twice", tn_var_name(param));
    t->param_buffers[index - 1] = buffer;
    return rd_node(buffer);
}

static value
match_buffer(reader *r, const ast *e, call_args *a, const char *hint)
{
    value from;
    const ast *from_at = e;
    buffer_fields f = {0};
    if (!r->tensor)
        return rd_error(r, e, TNB_FORMAT, "T.match_buffer outside of a tensor program");
    if (!rd_need(r, a, "param", &from, &from_at) || from.kind == V_ERROR)
        return rd_failed();
    /* the shape of a region is known */
    const tn_node *region = NULL;
    if (from.kind == V_NODE && !tn_is_var(from.node)) {
        region = rd_region(r, from_at, from);
        if (!region)
            return rd_failed();
    }
    if (!fields(r, a, hint, false, &f))
        return rd_failed();
    rd_at(r, e);
    const tn_node *b = tn_buffer_of(r->ctx, &f.b);
    if (tn_is_error(b))
        return rd_failed();
    if (!region) {
        const tn_expr *param = rd_scalar(r, from_at, from);
        return param ? match_param(r, from_at, param, b) : rd_failed();
    }
    const tn_node *m = tn_match_buffer_of(r->ctx, b, region);
    if (tn_is_error(m))
        return rd_failed();
    if (!r->tensor->block->is_block)
        return rd_error(r, e, TNB_FORMAT, "a region can be matched only inside a block");
    TNB_PUSH(r->arena, r->tensor->block->matches, m);
    return rd_node(b);
}

value
rd_buffer_call(reader *r, const ast *e, const char *what, const char *hint)
{
    const char *name = what + 2;
    call_args a = rd_args(e, what);
    r->hint = NULL;
    if (!strcmp(name, "match_buffer"))
        return match_buffer(r, e, &a, hint);
    buffer_fields f = {0};
    bool local = !strcmp(name, "alloc_local"), shared = !strcmp(name, "alloc_shared");
    bool block = !strcmp(name, "sblock_alloc_buffer") || !strcmp(name, "block_alloc_buffer");
    bool alloc = !strcmp(name, "alloc_buffer");
    if (!fields(r, &a, hint, local || shared, &f))
        return rd_failed();
    if (local || shared)
        f.b.scope = local ? "local" : "shared";
    rd_at(r, e);
    const tn_node *b = tn_buffer_of(r->ctx, &f.b);
    if (tn_is_error(b))
        return rd_failed();
    if (!strcmp(name, "Buffer") || !strcmp(name, "buffer") || !strcmp(name, "buffer_decl"))
        return rd_node(b);
    if (!r->tensor)
        return rd_error(r, e, TNB_FORMAT, "%s outside of a tensor program", what);
    if (block || (alloc && r->tensor->old_dialect)) {
        TNB_PUSH(r->arena, r->tensor->block->allocs, b);
        if (!r->tensor->block->is_block)
            r->tensor->has_blocks = true;
        return rd_node(b);
    }
    rd_push_stmt(r, !strcmp(name, "decl_buffer") ? tn_decl_buffer_of(r->ctx, b)
                                                 : tn_alloc_buffer_of(r->ctx, b, f.annotations));
    return rd_node(b);
}
