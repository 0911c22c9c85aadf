/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of tensors, attributes of windows, and the canonical form of both. */
#include "layout.h"

#include "complete.h"

const char *
layout_data_axes(int n_spatial)
{
    return n_spatial == 1 ? "NCW" : n_spatial == 2 ? "NCHW" : "NCDHW";
}

const char *
layout_kernel_axes(int n_spatial)
{
    return n_spatial == 1 ? "OIW" : n_spatial == 2 ? "OIHW" : "OIDHW";
}

int
layout_find(const layout *l, char axis)
{
    for (int i = 0; i < l->n; i++) {
        if (l->axis[i] == axis)
            return i;
    }
    return -1;
}

static char
lower(char upper)
{
    return (char)(upper - 'A' + 'a');
}

bool
layout_blocked(const layout *l)
{
    for (int i = 0; i < l->n; i++) {
        if (l->factor[i])
            return true;
    }
    return false;
}

static bool
parse(const char *s, layout *l)
{
    l->text = s;
    l->n = 0;
    while (*s) {
        int64_t factor = 0;
        for (; *s >= '0' && *s <= '9'; s++) {
            if (factor > 1 << 20)
                return false;
            factor = factor * 10 + (*s - '0');
        }
        bool block = *s >= 'a' && *s <= 'z';
        if ((!block && !(*s >= 'A' && *s <= 'Z')) || (factor != 0) != block || l->n == 16 ||
            layout_find(l, *s) >= 0)
            return false;
        l->axis[l->n] = *s++;
        l->factor[l->n++] = factor;
    }
    return l->n > 0;
}

bool
layout_read(tn_ctx *ctx, const tn_call *call, const char *key, const char *wanted, layout *out)
{
    const char *s = tn_call_attr(call, key) ? tn_call_str(call, key) : NULL;
    bool ok = s && parse(s, out);
    int upper = 0;
    for (int i = 0; ok && i < out->n; i++) {
        char c = out->axis[i];
        if (out->factor[i])
            ok = strchr(wanted, c - 'a' + 'A') != NULL;
        else
            ok = strchr(wanted, c) != NULL && ++upper;
    }
    if (ok && upper == (int)strlen(wanted))
        return true;
    infer_fail(ctx, call, TNB_INVALID, "attribute '%s' is \"%s\", which is no order of the axes %s",
               key, s ? s : "None", wanted);
    return false;
}

const tn_expr *
layout_extent(tn_ctx *ctx, const layout *l, tn_list dims, char axis)
{
    int at = layout_find(l, axis), block = layout_find(l, lower(axis));
    return block < 0 ? dims.at[at] : dim_muli(ctx, dims.at[at], l->factor[block]);
}

bool
layout_fits(tn_ctx *ctx, const tn_call *call, const layout *l, tn_list dims, const char *what)
{
    for (int i = 0; i < l->n; i++)
        if (l->factor[i] && dim_differ(ctx, dims.at[i], tn_i64(ctx, l->factor[i]),
                                       "the %s has extent {} in axis %d, its layout %s wants {}",
                                       what, i, l->text)) {
            infer_fail(ctx, call, TNB_SHAPE,
                       "the %s has extent %s in axis %d, its layout %s wants %lld", what,
                       tn_text(ctx, dims.at[i]), i, l->text, (long long)l->factor[i]);
            return false;
        }
    return true;
}

tn_list
layout_dims(tn_ctx *ctx, const layout *l, const char *wanted, const tn_expr *const *extents)
{
    const tn_node *dims[16];
    for (int i = 0; i < l->n; i++) {
        if (l->factor[i]) {
            dims[i] = tn_i64(ctx, l->factor[i]);
            continue;
        }
        const tn_expr *e = extents[strchr(wanted, l->axis[i]) - wanted];
        int block = layout_find(l, lower(l->axis[i]));
        if (block >= 0) /* numbers that blocks do not divide are left to the legalization */
            (void)dim_ragged(ctx, e, l->factor[block],
                             "axis %c has extent {}, which is no multiple of the blocks of %s",
                             l->axis[i], l->text);
        dims[i] = block < 0 ? e : dim_floordiv(ctx, e, l->factor[block]);
    }
    return tn_list_of(ctx, dims, (uint32_t)l->n);
}

bool
window_ints(tn_ctx *ctx, const tn_call *call, const char *key, int n, int64_t least, int64_t *out)
{
    int64_t v[8];
    int count = tn_call_ints(call, key, v, 8);
    if (count != 1 && count != n) {
        infer_fail(ctx, call, TNB_INVALID, "attribute '%s' has %d entries, expected 1 or %d", key,
                   count < 0 ? 0 : count, n);
        return false;
    }
    for (int i = 0; i < n; i++) {
        out[i] = v[count == 1 ? 0 : i];
        if (out[i] < least || out[i] > INT32_MAX) {
            infer_fail(ctx, call, TNB_INVALID, "attribute '%s' is %lld, expected at least %lld",
                       key, (long long)out[i], (long long)least);
            return false;
        }
    }
    return true;
}

/* Completes padding of n axes to begins and ends: one value for all, one an axis, or both sides. */
static bool
complete_padding(const int64_t *v, int count, int n, int64_t *out)
{
    if (count != 1 && count != n && count != 2 * n)
        return false;
    for (int i = 0; i < 2 * n; i++)
        out[i] = v[count == 1 ? 0 : count == n ? i % n : i];
    return true;
}

bool
window_read(tn_ctx *ctx, const tn_call *call, int n, window *w)
{
    int64_t v[8], pad[6];
    w->n = n;
    if (!window_ints(ctx, call, "strides", n, 1, w->stride) ||
        !window_ints(ctx, call, "dilation", n, 1, w->dilation))
        return false;
    int count = tn_call_ints(call, "padding", v, 8);
    if (!complete_padding(v, count, n, pad)) {
        infer_fail(ctx, call, TNB_INVALID,
                   "attribute 'padding' has %d entries, expected 1, %d or %d",
                   count < 0 ? 0 : count, n, 2 * n);
        return false;
    }
    for (int i = 0; i < n; i++) {
        w->before[i] = pad[i];
        w->after[i] = pad[n + i];
        if (pad[i] < 0 || pad[n + i] < 0 || pad[i] > INT32_MAX || pad[n + i] > INT32_MAX) {
            infer_fail(ctx, call, TNB_INVALID, "attribute 'padding' has the entry %lld below zero",
                       (long long)(pad[i] < 0 ? pad[i] : pad[n + i]));
            return false;
        }
    }
    return true;
}

bool
window_leaves(tn_ctx *ctx, const tn_call *call, const tn_expr *extent, char axis, const char *why)
{
    if (!dim_exceeds(ctx, tn_i64(ctx, 1), extent,
                     "%s along axis %c: wanted {} or more results, found {}", why, axis))
        return true;
    infer_fail(ctx, call, TNB_SHAPE, "%s along axis %c", why, axis);
    return false;
}

/* ---- canonical attributes ---- */

static int
spatial_axes(const char *name)
{
    for (; *name; name++) {
        if (*name >= '1' && *name <= '3' && name[1] == 'd')
            return *name - '0';
    }
    return 0;
}

static const tn_node *
spread(tn_ctx *ctx, const tn_node *attrs, const char *key, int n)
{
    int64_t v[8];
    if (tn_dict_ints(attrs, key, v, 8) != 1 || n == 1)
        return attrs;
    for (int i = 1; i < n; i++)
        v[i] = v[0];
    return tn_dict_set(ctx, attrs, key, tn_int_array(ctx, v, (uint32_t)n));
}

const tn_node *
complete_attrs(tn_ctx *ctx, const tn_op *op, const tn_node *attrs)
{
    int n = spatial_axes(op->base.name);
    if (!n)
        return attrs;
    static const char *const lone[] = {"strides", "dilation", "pool_size", "output_padding",
                                       "output_size"};
    for (unsigned i = 0; i < sizeof lone / sizeof *lone; i++)
        attrs = spread(ctx, attrs, lone[i], n);
    int64_t v[8], pad[6];
    int count = tn_dict_ints(attrs, "padding", v, 8);
    if (count > 0 && count != 2 * n && complete_padding(v, count, n, pad))
        attrs = tn_dict_set(ctx, attrs, "padding", tn_int_array(ctx, pad, (uint32_t)(2 * n)));
    /* upstream's constructor writes the region out, which only one mode reads */
    const tn_array *roi = tn_as_array(tn_dict_get(attrs, "roi"));
    const char *mode = tn_dict_str(attrs, "coordinate_transformation_mode", "");
    if (roi && !roi->items.n && strcmp(mode, "tf_crop_and_resize")) {
        const tn_node *zeros[6];
        for (int i = 0; i < 2 * n; i++)
            zeros[i] = tn_float_imm_of(ctx, TNB_F64, 0);
        attrs =
            tn_dict_set(ctx, attrs, "roi", tn_array_of(ctx, (tn_list){zeros, (uint32_t)(2 * n)}));
    }
    const tn_node *out = tn_dict_get(attrs, "out_layout");
    const tn_node *own = tn_dict_get(attrs, "data_layout");
    if (!own)
        own = tn_dict_get(attrs, "layout");
    const tn_string_imm *text = tn_as_string_imm(out);
    if (own && out && (tn_is(out, TN_KIND_NONE) || (text && !text->value[0])))
        attrs = tn_dict_set(ctx, attrs, "out_layout", own);
    return attrs;
}
