/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts as text: reading, renaming, whether extents fit, index maps between two. */
#include "tenon/kit/layout.h"

#include "tenon/core/arith.h"

static bool
is_axis(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool
is_block(char c)
{
    return c >= 'a' && c <= 'z';
}

static char
block_of(char axis)
{
    return (char)(axis - 'A' + 'a');
}

static char
axis_of(char block)
{
    return (char)(block - 'a' + 'A');
}

int
tnk_layout_find(const tnk_layout *l, char axis)
{
    for (int i = 0; i < l->n; i++)
        if (l->axis[i] == axis)
            return i;
    return -1;
}

bool
tnk_layout_parse(const char *text, tnk_layout *out)
{
    *out = (tnk_layout){0};
    for (const char *s = text; *s; s++) {
        int64_t factor = 0;
        for (; *s >= '0' && *s <= '9'; s++) {
            if (factor > 1 << 20)
                return false;
            factor = factor * 10 + (*s - '0');
        }
        if ((!is_axis(*s) && !is_block(*s)) || (factor > 0) != is_block(*s) ||
            tnk_layout_find(out, *s) >= 0)
            return false;
        out->axis[out->n] = *s;
        out->factor[out->n++] = factor;
    }
    for (int i = 0; i < out->n; i++)
        if (out->factor[i] && tnk_layout_find(out, axis_of(out->axis[i])) < 0)
            return false;
    return true;
}

bool
tnk_layout_blocked(const char *text)
{
    for (; *text; text++)
        if (!is_axis(*text))
            return true;
    return false;
}

const char *
tnk_layout_initial(tn_ctx *ctx, int64_t ndim)
{
    return ndim < 0 || ndim > 26 ? NULL : tn_strn(ctx, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", (size_t)ndim);
}

const char *
tnk_layout_rename(tn_ctx *ctx, const char *text, const char *from, const char *to)
{
    char out[4 * TNK_LAYOUT_AXES];
    size_t n = 0;
    if (strlen(from) != strlen(to))
        return NULL;
    for (; *text && n + 1 < sizeof out; text++) {
        char c = *text;
        if (is_axis(c) || is_block(c)) {
            const char *at = strchr(from, is_axis(c) ? c : axis_of(c));
            if (!at)
                return NULL;
            char named = to[at - from];
            if (is_block(c) && !is_axis(named))
                return NULL;
            c = is_axis(c) ? named : block_of(named);
        }
        out[n++] = c;
    }
    return *text ? NULL : tn_strn(ctx, out, n);
}

/* The block's factor of an axis; 0: none. */
static int64_t
block_factor(const tnk_layout *l, char axis)
{
    int at = tnk_layout_find(l, block_of(axis));
    return at < 0 ? 0 : l->factor[at];
}

static bool
same_axes(const tnk_layout *a, const tnk_layout *b)
{
    for (int i = 0; i < a->n; i++)
        if (is_axis(a->axis[i]) && tnk_layout_find(b, a->axis[i]) < 0)
            return false;
    for (int i = 0; i < b->n; i++)
        if (is_axis(b->axis[i]) && tnk_layout_find(a, b->axis[i]) < 0)
            return false;
    return true;
}

bool
tnk_layout_fits(tn_ctx *ctx, const char *from, const char *to, tn_list dims)
{
    tnk_layout a, b;
    if (!tnk_layout_parse(from, &a) || !tnk_layout_parse(to, &b) || tnk_layout_blocked(from) ||
        !same_axes(&a, &b) || (uint32_t)a.n != dims.n)
        return false;
    for (int i = 0; i < a.n; i++) {
        int64_t extent, factor = block_factor(&b, a.axis[i]);
        const tn_expr *dim = tn_simplify_now(ctx, dims.at[i]);
        if (factor && tn_int_value(dim, &extent) && extent % factor)
            return false;
    }
    return true;
}

int
tnk_layout_place(const char *relative, int64_t axis)
{
    tnk_layout l;
    if (!tnk_layout_parse(relative, &l))
        return -1;
    int64_t n = 0;
    for (int i = 0; i < l.n; i++)
        n += is_axis(l.axis[i]);
    axis += axis < 0 ? n : 0;
    return axis < 0 || axis >= n ? -1 : tnk_layout_find(&l, (char)('A' + axis));
}

const tn_node *
tnk_layout_index_map(tn_ctx *ctx, const char *from, const char *to)
{
    tnk_layout a, b;
    if (!tnk_layout_parse(from, &a) || !tnk_layout_parse(to, &b) || !same_axes(&a, &b))
        return NULL;
    const tn_node *vars[TNK_LAYOUT_AXES], *result[TNK_LAYOUT_AXES];
    for (int i = 0; i < a.n; i++)
        vars[i] = tn_var_dtype(ctx, tn_strf(ctx, "i%d", i), TNB_I32);
    for (int i = 0; i < b.n; i++) {
        char axis = is_axis(b.axis[i]) ? b.axis[i] : axis_of(b.axis[i]);
        int64_t had = block_factor(&a, axis), wanted = block_factor(&b, axis);
        int own = tnk_layout_find(&a, b.axis[i]);
        if (had == wanted) { /* blocked alike, or not at all */
            result[i] = vars[own];
            continue;
        }
        const tn_expr *whole = vars[tnk_layout_find(&a, axis)];
        if (had) {
            const tn_expr *inner = vars[tnk_layout_find(&a, block_of(axis))];
            whole = tn_add(ctx, tn_mul(ctx, whole, tn_i32(ctx, (int32_t)had)), inner);
        }
        const tn_expr *factor = tn_i32(ctx, (int32_t)wanted);
        result[i] = !wanted              ? whole
                    : is_axis(b.axis[i]) ? tn_floordiv(ctx, whole, factor)
                                         : tn_floormod(ctx, whole, factor);
    }
    tn_index_map m = {.vars = tn_list_of(ctx, vars, (uint32_t)a.n),
                      .result = tn_list_of(ctx, result, (uint32_t)b.n)};
    return tn_rebuild(ctx, TN_KIND_INDEX_MAP, &m, NULL);
}
