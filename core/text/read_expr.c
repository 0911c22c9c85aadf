/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions and index maps by themselves: what options, settings and traces hold of the text form. */
#include "reader.h"

static bool
begin(reader *r, tn_ctx *ctx, tnb_place at)
{
    *r = (reader){.ctx = ctx, .arena = tnb_arena_new()};
    if (!r->arena) {
        tn_error(ctx, tn_loc_make(ctx, at), TNB_NO_MEMORY, "no memory to read an expression");
        return false;
    }
    r->src = (source){.ctx = ctx,
                      .arena = r->arena,
                      .file = tn_str(ctx, at.file ? at.file : "<expression>")};
    r->errors_at_start = tnb_diags_errors(tn_diags(ctx));
    tnb_ptrmap_init(&r->names, r->arena);
    tnb_ptrmap_init(&r->gone, r->arena);
    tnb_strmap_init(&r->globals, r->arena);
    tnb_ptrmap_init(&r->by_var, r->arena);
    rd_push(r);
    rd_bind(r, tn_str(ctx, "T"), (value){.kind = V_PATH, .s = "T"});
    return true;
}

/* The value, or NULL after recording an error. */
static const tn_node *
end(reader *r, const tn_node *made, tn_loc before)
{
    tn_ctx *ctx = r->ctx;
    uint32_t errors = tnb_diags_errors(tn_diags(ctx));
    bool failed = tnb_arena_failed(r->arena);
    if (failed)
        tn_error(ctx, 0, TNB_NO_MEMORY, "no memory to read an expression");
    else if (r->src.errors || errors != r->errors_at_start)
        failed = true;
    tn_at(ctx, before);
    tnb_arena_free(r->arena);
    return failed ? NULL : made;
}

const tn_expr *
tn_read_expr(tn_ctx *ctx, tnb_place at, const char *text, size_t n, tn_list vars)
{
    reader r;
    const tn_expr *made = NULL;
    tn_loc before = tn_at(ctx, 0);
    if (!begin(&r, ctx, at))
        return NULL;
    for (uint32_t i = 0; i < vars.n; i++)
        rd_bind(&r, tn_str(ctx, tn_var_name(vars.at[i])), rd_node(vars.at[i]));
    const ast *e =
        text_parse_expr(&r.src, text, n, at.line ? at.line : 1, at.column ? at.column : 1);
    if (e)
        made = rd_scalar(&r, e, rd_eval(&r, e));
    if (made && !tn_is_scalar(made)) {
        rd_error(&r, e, TNB_TYPE, "expected a scalar expression, found %s", tn_text(ctx, made));
        made = NULL;
    }
    return end(&r, made, before);
}

const tn_node *
tn_read_index_map(tn_ctx *ctx, tnb_place at, const char *text, size_t n)
{
    reader r;
    const tn_node *made = NULL;
    tn_loc before = tn_at(ctx, 0);
    if (!begin(&r, ctx, at))
        return NULL;
    const ast *e =
        text_parse_expr(&r.src, text, n, at.line ? at.line : 1, at.column ? at.column : 1);
    value v = e ? rd_eval(&r, e) : rd_failed();
    if (v.kind == V_LAMBDA)
        made = rd_index_map(&r, e, v);
    else if (v.kind != V_ERROR)
        rd_error(&r, e, TNB_TYPE, "expected a lambda such as \"lambda i, j: (j, i)\", found %s",
                 rd_what(&r, v));
    return end(&r, made, before);
}
