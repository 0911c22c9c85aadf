/* SPDX-License-Identifier: Apache-2.0 */
/* What a check of extents says: where it comes from, what it wants, and which axes of which inputs it is about. */
#include "shape_facts.h"

#include "tenon/core/text.h"
#include "tenon/core/walk.h"

void
shape_note_origins(tn_ctx *ctx, tnb_ptrmap *origin, const tn_type *t, const char *name)
{
    const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
    tn_list dims;
    for (uint32_t i = 0; tuple && i < tuple->fields.n; i++)
        shape_note_origins(ctx, origin, tuple->fields.at[i], tn_strf(ctx, "%s[%u]", name, i));
    if (tuple || !tn_type_dims(t, &dims))
        return;
    for (uint32_t i = 0; i < dims.n; i++)
        if (tn_is_var(dims.at[i]) && !tnb_ptrmap_has(origin, dims.at[i]))
            tnb_ptrmap_set(origin, dims.at[i],
                           (void *)(uintptr_t)tn_strf(ctx, "axis %u of '%s'", i, name));
}

static void
put_text(tnb_buf *out, const char *text, bool braces_mean_values)
{
    for (const char *c = text; *c; c++) {
        if ((*c == '{' || *c == '}') && !braces_mean_values)
            tnb_buf_putc(out, *c);
        tnb_buf_putc(out, *c);
    }
}

const char *
shape_check_text(tn_ctx *ctx, const tnb_ptrmap *origin, tn_loc loc, const char *what,
                 const tn_assumption *a, tn_list *values)
{
    tnb_place place = tn_loc_place(ctx, loc);
    tnb_buf out = {0};
    if (place.node)
        put_text(&out, place.node, false);
    else if (place.line)
        tnb_buf_printf(&out, "line %u (%s)", place.line, what);
    else
        tnb_buf_puts(&out, what);
    tnb_buf_puts(&out, ": ");
    put_text(&out, a->text, true);
    tn_list vars = tn_free_vars(ctx, a->holds, false);
    bool first = true;
    for (uint32_t i = 0; i < vars.n; i++) {
        const char *axis = tnb_ptrmap_get(origin, vars.at[i]);
        if (!axis)
            continue;
        tnb_buf_puts(&out, first ? "; " : ", ");
        put_text(&out, axis, false);
        tnb_buf_puts(&out, " is {}");
        *values = tn_list_append(ctx, *values, vars.at[i]);
        first = false;
    }
    const char *text = tn_str(ctx, out.s ? out.s : "");
    tnb_buf_free(&out);
    return text;
}

void
shape_check_fails(tn_ctx *ctx, tn_loc loc, const char *what, const tn_assumption *a)
{
    tnb_buf out = {0};
    uint32_t next = 0;
    for (const char *c = a->text; *c; c++) {
        if (c[0] == '{' && c[1] == '}' && next < a->values.n) {
            tnb_buf_puts(&out, tn_text(ctx, a->values.at[next++]));
            c++;
        } else {
            tnb_buf_putc(&out, *c);
        }
    }
    tn_error(ctx, loc, TNB_SHAPE, "%s: %s", what, out.s ? out.s : "");
    tnb_buf_free(&out);
}
