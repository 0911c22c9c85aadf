/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution and pooling: attributes that windows share, then the operators. */
#include <inttypes.h>
#include <math.h>
#include "dynamic.h"

enum { MAX_SPATIAL = 3 };

typedef struct window {
    int rank; /* spatial */
    int64_t kernel[MAX_SPATIAL], strides[MAX_SPATIAL], dilations[MAX_SPATIAL],
        pads[2 * MAX_SPATIAL];
    bool same;
} window;

static const char *const auto_pads[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", NULL};

enum { PAD_NOTSET, PAD_SAME_UPPER, PAD_SAME_LOWER, PAD_VALID };

/* What PAD_SAME_* adds before and after an axis for windows that reach over `span` entries. */
static void
same_pads(int mode, int64_t extent, int64_t span, int64_t stride, int64_t *before, int64_t *after)
{
    int64_t total = (tnb_ceildiv(extent, stride) - 1) * stride + span - extent;
    total = total < 0 ? 0 : total;
    *before = mode == PAD_SAME_UPPER ? total / 2 : total - total / 2;
    *after = total - *before;
}

/* `want` integers of an attribute, each from `least` to 2^31 - 1. */
static bool
window_ints(onnx_node *n, const char *name, int64_t *out, int want, int64_t otherwise,
            int64_t least)
{
    int64_t v[2 * MAX_SPATIAL + 2];
    int have = onnx_attr_ints(n, name, v, 2 * MAX_SPATIAL + 2);
    if (n->failed)
        return false;
    if (have >= 0 && have != want)
        return onnx_fail(n, TNB_INVALID, "attribute '%s' has %d entries, expected %d", name, have,
                         want);
    for (int i = 0; i < want; i++) {
        out[i] = have < 0 ? otherwise : v[i];
        if (out[i] < least || out[i] > INT32_MAX)
            return onnx_fail(n, TNB_INVALID,
                             "entry %d of attribute '%s' is %" PRId64 ", expected %" PRId64
                             " to %d",
                             i, name, out[i], least, INT32_MAX);
    }
    return true;
}

/* SAME_* along an axis whose extent is dynamic: paddings as terms. */
static void
same_terms(onnx_node *n, const tn_expr *extent, int64_t span, int64_t stride, bool upper,
           const tn_expr **before, const tn_expr **after)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *s = tn_i64(ctx, stride), *total = tn_i64(ctx, 0);
    if (span >= stride) /* (ceil(extent / s) - 1) * s + span - extent, never negative */
        total = tn_sub(ctx,
                       tn_add(ctx, tn_mul(ctx, tn_ceildiv(ctx, extent, s), s),
                              tn_i64(ctx, span - stride)),
                       extent);
    else /* windows with gaps: the last one may end behind the data */
        total = tn_max(ctx, total,
                       tn_sub(ctx,
                              tn_add(ctx, tn_mul(ctx, tn_ceildiv(ctx, extent, s), s),
                                     tn_i64(ctx, span - stride)),
                              extent));
    const tn_expr *half = tn_floordiv(ctx, total, tn_i64(ctx, 2));
    *before = onnx_simplify(n, upper ? half : tn_sub(ctx, total, half));
    *after = onnx_simplify(n, tn_sub(ctx, total, *before));
}

/* Everything but the kernel's extents, which the caller has set. Where paddings depend on dynamic
 * extents, *x becomes the padded input, by the value `fill`, and *added (NULL: cannot be) is set. */
static bool
read_window(onnx_node *n, const tn_expr **x, window *w, double fill, bool *added)
{
    tn_ctx *ctx = n->ctx;
    int mode = onnx_attr_choice(n, "auto_pad", "NOTSET", auto_pads);
    const tn_expr *before[2 + MAX_SPATIAL], *after[2 + MAX_SPATIAL];
    bool open = false;
    tn_list dims;
    if (mode < 0 || !window_ints(n, "strides", w->strides, w->rank, 1, 1) ||
        !window_ints(n, "dilations", w->dilations, w->rank, 1, 1) ||
        !window_ints(n, "pads", w->pads, 2 * w->rank, 0, INT32_MIN) || !onnx_dims(n, *x, &dims))
        return false;
    w->same = mode == PAD_SAME_UPPER || mode == PAD_SAME_LOWER;
    if (mode == PAD_VALID)
        memset(w->pads, 0, sizeof w->pads);
    before[0] = before[1] = after[0] = after[1] = tn_i64(ctx, 0);
    for (int i = 0; i < w->rank && w->same; i++) {
        int64_t extent = onnx_dim(*x, 2 + i), span = (w->kernel[i] - 1) * w->dilations[i] + 1,
                s = w->strides[i];
        before[2 + i] = after[2 + i] = tn_i64(ctx, 0);
        w->pads[i] = w->pads[w->rank + i] = 0;
        if (extent < 0 && s != 1) {
            same_terms(n, dims.at[2 + i], span, s, mode == PAD_SAME_UPPER, &before[2 + i],
                       &after[2 + i]);
            open = true;
            continue;
        }
        if (extent >= 0)
            same_pads(mode, extent, span, s, &w->pads[i], &w->pads[w->rank + i]);
        else
            same_pads(mode, 1, span, 1, &w->pads[i], &w->pads[w->rank + i]);
    }
    if (!open)
        return true;
    if (!added) {
        onnx_fail(n, TNB_UNSUPPORTED,
                  "attribute 'auto_pad' is %s, but the input's extents are dynamic",
                  auto_pads[mode]);
        onnx_hint_dims(n);
        return false;
    }
    *added = true;
    *x = onnx_pad_at(n, *x, before, after, "constant", onnx_scalar(n, onnx_dtype(*x), fill));
    return !n->failed;
}

static bool
spatial_rank(onnx_node *n, const tn_expr *x, window *w)
{
    int64_t r = onnx_rank(n, x);
    if (r < 0)
        return false;
    if (r < 3 || r > 2 + MAX_SPATIAL)
        return onnx_fail(n, TNB_UNSUPPORTED, "the input has rank %" PRId64 ", expected 3, 4 or 5",
                         r);
    w->rank = (int)r - 2;
    return true;
}

static const tn_node *
ints(onnx_node *n, const int64_t *v, int count)
{
    return tn_int_array(n->ctx, v, (uint32_t)count);
}

/* The bias as [1, C, 1, ...] and added. */
static const tn_expr *
add_bias(onnx_node *n, const tn_expr *y, const tn_expr *bias, int spatial)
{
    const tn_expr *dims[2 + MAX_SPATIAL];
    tn_list have, of;
    if (!onnx_dims(n, bias, &have) || !onnx_dims(n, y, &of))
        return tn_error_node(n->ctx);
    if (have.n != 1) {
        onnx_fail(n, TNB_SHAPE, "the bias has rank %u, expected 1", have.n);
        return tn_error_node(n->ctx);
    }
    have = tn_listv(n->ctx, of.at[1], NULL); /* not one for all channels */
    bias = onnx_fix_extents(n, bias, have, "the bias");
    for (int i = 0; i < 2 + spatial; i++)
        dims[i] = i == 1 ? have.at[0] : tn_i64(n->ctx, 1);
    return onnx_bin(n, "add", y, onnx_reshape(n, bias, dims, (uint32_t)(2 + spatial)));
}

/* ---- convolution ---- */

/* The weight's window. An extent that comes at run time is what attribute 'kernel_shape' says, else -1: paddings must not depend on it. */
static bool
kernel_of(onnx_node *n, const tn_expr **w, window *win)
{
    int64_t r = onnx_rank(n, *w), given[MAX_SPATIAL];
    bool stated = onnx_attr(n, "kernel_shape") != NULL;
    int mode = onnx_attr_choice(n, "auto_pad", "NOTSET", auto_pads);
    tn_list dims;
    if (r < 0 || mode < 0 || !onnx_dims(n, *w, &dims))
        return false;
    if (r != win->rank + 2)
        return onnx_fail(n, TNB_SHAPE, "the input has rank %d, but the weight has rank %" PRId64,
                         win->rank + 2, r);
    if (stated && !window_ints(n, "kernel_shape", given, win->rank, 1, 1))
        return false;
    bool needed = mode == PAD_SAME_UPPER || mode == PAD_SAME_LOWER || onnx_attr(n, "output_shape");
    for (int i = 0; i < win->rank; i++) {
        win->kernel[i] = onnx_dim(*w, 2 + i);
        if (win->kernel[i] < 0 && stated)
            dims = tn_list_with(n->ctx, dims, (uint32_t)(2 + i),
                                tn_i64(n->ctx, win->kernel[i] = given[i]));
        else if (win->kernel[i] < 0 && needed)
            return onnx_unknown(n, tn_strf(n->ctx, "extent %d of the weight has", 2 + i));
        else if (win->kernel[i] == 0)
            return onnx_fail(n, TNB_UNSUPPORTED, "extent %d of the weight is 0, expected 1 or more",
                             2 + i);
        else if (win->kernel[i] > INT32_MAX)
            return onnx_fail(n, TNB_BOUNDS,
                             "extent %d of the weight is %" PRId64 ", expected at most %d", 2 + i,
                             win->kernel[i], INT32_MAX);
        else if (stated && given[i] != win->kernel[i])
            return onnx_fail(n, TNB_SHAPE,
                             "entry %d of attribute 'kernel_shape' is %" PRId64
                             ", but the weight has %" PRId64,
                             i, given[i], win->kernel[i]);
    }
    *w = stated ? onnx_fix_extents(n, *w, dims, "the weight") : *w;
    return !n->failed;
}

static bool
check_groups(onnx_node *n, const tn_expr *x, const tn_expr *w, const char *weight, int64_t group)
{
    int64_t c = onnx_dim(x, 1), o = onnx_dim(w, 0), per = onnx_dim(w, 1);
    if (group < 1)
        return onnx_fail(n, TNB_INVALID, "attribute 'group' is %" PRId64 ", expected 1 or more",
                         group);
    if (c >= 0 && c % group)
        onnx_fail(n, TNB_SHAPE,
                  "attribute 'group' is %" PRId64 ", but the %" PRId64
                  " input channels are not a multiple of %" PRId64,
                  group, c, group);
    else if (o >= 0 && o % group)
        onnx_fail(n, TNB_SHAPE,
                  "attribute 'group' is %" PRId64 ", but the %" PRId64
                  " output channels are not a multiple of %" PRId64,
                  group, o, group);
    else if (c >= 0 && per >= 0 && c / group != per)
        onnx_fail(n, TNB_SHAPE,
                  "the input has %" PRId64 " channels in %" PRId64
                  " groups, but the weight takes %" PRId64 " a group",
                  c, group, per);
    if (!n->failed)
        return true;
    onnx_note(n, "weight '%s' has type %s", weight, onnx_type_text(n->imp, w->type));
    onnx_hint(n, "check the exporter's group setting");
    return false;
}

static const char *const conv_names[] = {"nn.conv1d", "nn.conv2d", "nn.conv3d"};
static const char *const conv_t_names[] = {"nn.conv1d_transpose", "nn.conv2d_transpose",
                                           "nn.conv3d_transpose"};

const tn_expr *
onnx_convolve(onnx_node *n, const tn_expr *x, const tn_expr *w, const char *weight, tnb_dtype out)
{
    tn_ctx *ctx = n->ctx;
    window win = {0};
    int64_t group = onnx_attr_int(n, "group", 1);
    bool added;
    if (!spatial_rank(n, x, &win) || !kernel_of(n, &w, &win) ||
        !read_window(n, &x, &win, 0, &added) || !check_groups(n, x, w, weight, group))
        return tn_error_node(ctx);
    const tn_node *attrs =
        tn_dictv(ctx, "strides", ints(n, win.strides, win.rank), "padding",
                 ints(n, win.pads, 2 * win.rank), "dilation", ints(n, win.dilations, win.rank),
                 "groups", tn_i64(ctx, group), NULL);
    if (!tnb_dtype_is_void(out))
        attrs = tn_dict_set(ctx, attrs, "out_dtype", tn_dtype_imm_of(ctx, out));
    return onnx_emit(n, conv_names[win.rank - 1], attrs, x, w, NULL);
}

static bool
import_conv(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0),
                  *y = onnx_convolve(n, x, onnx_in(n, 1), n->in[1]->name, TNB_VOID);
    int spatial = n->failed ? 0 : (int)onnx_rank(n, x) - 2;
    return onnx_ret(n, onnx_has(n, 2) && !n->failed ? add_bias(n, y, onnx_in(n, 2), spatial) : y);
}

/* Paddings of a transposed convolution whose output extents are given. */
static bool
pads_for_output(onnx_node *n, const tn_expr *x, window *win, int64_t *out_pad, const int64_t *want,
                bool upper)
{
    for (int i = 0; i < win->rank; i++) {
        int64_t extent = onnx_dim(x, 2 + i);
        if (extent < 0 && !want) /* the extent's part cancels out */
            extent = 1;
        if (extent < 0)
            return onnx_unknown(n, tn_strf(n->ctx,
                                           "the output's extents are given, so extent %d of the "
                                           "input has",
                                           2 + i));
        int64_t full = win->strides[i] * (extent - 1) + out_pad[i] +
                       (win->kernel[i] - 1) * win->dilations[i] + 1;
        int64_t total = full - (want ? want[i] : extent * win->strides[i]);
        if (total < 0) { /* the rest of the output gets no contribution */
            out_pad[i] -= total;
            total = 0;
        }
        win->pads[i] = upper ? total / 2 : total - total / 2;
        win->pads[win->rank + i] = total - win->pads[i];
    }
    return true;
}

static bool
import_conv_transpose(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *w = onnx_in(n, 1), *y;
    window win = {0};
    int64_t group = onnx_attr_int(n, "group", 1), out_pad[MAX_SPATIAL], want[MAX_SPATIAL + 2];
    if (!spatial_rank(n, x, &win) || !kernel_of(n, &w, &win) ||
        !window_ints(n, "output_padding", out_pad, win.rank, 0, 0))
        return false;
    int mode = onnx_attr_choice(n, "auto_pad", "NOTSET", auto_pads);
    if (mode < 0 || !window_ints(n, "strides", win.strides, win.rank, 1, 1) ||
        !window_ints(n, "dilations", win.dilations, win.rank, 1, 1) ||
        !window_ints(n, "pads", win.pads, 2 * win.rank, 0, INT32_MIN))
        return false;
    int64_t c = onnx_dim(x, 1), ci = onnx_dim(w, 0);
    if (group < 1 || (c >= 0 && c % group) || (c >= 0 && ci >= 0 && c != ci))
        return onnx_fail(n, TNB_SHAPE,
                         "the input has %" PRId64 " channels in %" PRId64
                         " groups, but the weight takes %" PRId64,
                         c, group, ci);
    if (mode == PAD_VALID)
        memset(win.pads, 0, sizeof win.pads);
    int given = onnx_attr_ints(n, "output_shape", want, MAX_SPATIAL + 2);
    if (given >= 0 && given != win.rank && given != win.rank + 2)
        return onnx_fail(n, TNB_INVALID, "attribute 'output_shape' has %d entries, expected %d",
                         given, win.rank);
    bool same = mode == PAD_SAME_UPPER || mode == PAD_SAME_LOWER;
    if ((given >= 0 || same) &&
        !pads_for_output(n, x, &win, out_pad, given < 0 ? NULL : want + (given - win.rank),
                         mode == PAD_SAME_UPPER))
        return false;
    y = onnx_emit(n, conv_t_names[win.rank - 1],
                  tn_dictv(n->ctx, "strides", ints(n, win.strides, win.rank), "padding",
                           ints(n, win.pads, 2 * win.rank), "output_padding",
                           ints(n, out_pad, win.rank), "dilation", ints(n, win.dilations, win.rank),
                           "groups", tn_i64(n->ctx, group), NULL),
                  x, w, NULL);
    return onnx_ret(n, onnx_has(n, 2) ? add_bias(n, y, onnx_in(n, 2), win.rank) : y);
}

/* ---- pooling ---- */

/* With rounding up, a window that would begin after the data and the padding before them does not
 * count: the padding after them then ends with the last window that does. Data that no window reads
 * are cut off. */
static const tn_expr *
drop_windows(onnx_node *n, const tn_expr *x, window *w)
{
    for (int i = 0; i < w->rank; i++) {
        int64_t extent = onnx_dim(x, 2 + i), before = w->pads[i], after = w->pads[w->rank + i],
                span = (w->kernel[i] - 1) * w->dilations[i] + 1, s = w->strides[i];
        int64_t room = extent + before + after - span;
        if (extent < 0 || room < 0)
            continue;
        int64_t last = tnb_ceildiv(room, s);
        if (last * s < extent + before || last == 0)
            continue;
        int64_t rest = (last - 1) * s + span - extent - before;
        w->pads[w->rank + i] = rest > 0 ? rest : 0;
        if (rest < 0)
            x = onnx_slice_ints(n, x, 2 + i, 0, extent + rest);
    }
    return x;
}

/* The same of the result, for dynamic extents or for all: as many windows as begin before the padding behind the data. */
static const tn_expr *
drop_results(onnx_node *n, const tn_expr *x, const window *w, bool all, const tn_expr *y)
{
    tn_ctx *ctx = n->ctx;
    for (int i = 0; i < w->rank; i++) {
        int64_t span = (w->kernel[i] - 1) * w->dilations[i] + 1, s = w->strides[i], axis = 2 + i;
        tn_list in, out;
        if ((!all && onnx_dim(x, axis) >= 0) || w->pads[w->rank + i] + s <= span)
            continue; /* none begins there */
        if (!onnx_dims(n, x, &in) || !onnx_dims(n, y, &out))
            return y;
        const tn_expr *most =
            tn_ceildiv(ctx, tn_add(ctx, in.at[axis], tn_i64(ctx, w->pads[i])), tn_i64(ctx, s));
        y = onnx_slice_inside(n, y, axis, tn_i64(ctx, 0),
                              onnx_simplify(n, tn_min(ctx, out.at[axis], most)), 1);
    }
    return y;
}

/* Indices count in the whole input, of which nothing may be cut off. */
static const tn_expr *
drop_indexed(onnx_node *n, const tn_expr *x, const window *w, const tn_expr *y)
{
    tn_list both = {0};
    for (uint32_t i = 0; i < 2 && !n->failed; i++)
        both =
            tn_list_append(n->ctx, both, drop_results(n, x, w, true, onnx_tuple_get(n, y, (int)i)));
    return n->failed ? tn_error_node(n->ctx) : tn_tuple_of(n->ctx, both);
}

/* whole: windows that end behind the padded data are as large as others. Padding by a stride less one more makes them so,
 * and rounding down then gives as many. */
static const tn_expr *
emit_pool(onnx_node *n, const char *kind, const tn_expr *x, window *w, bool whole,
          const tn_node *more)
{
    bool ceil = onnx_attr_int(n, "ceil_mode", 0) != 0;
    bool indexed = tn_dict_get(more, "storage_order") != NULL;
    if (ceil && !indexed)
        x = drop_windows(n, x, w);
    const window given = *w;
    for (int i = 0; ceil && whole && i < w->rank; i++)
        w->pads[w->rank + i] += w->strides[i] - 1;
    const tn_node *attrs =
        tn_dictv(n->ctx, "pool_size", ints(n, w->kernel, w->rank), "strides",
                 ints(n, w->strides, w->rank), "padding", ints(n, w->pads, 2 * w->rank), "dilation",
                 ints(n, w->dilations, w->rank), "ceil_mode", tn_bool(n->ctx, ceil && !whole),
                 NULL);
    const tn_dict *d = tn_as_dict(more);
    for (uint32_t i = 0; d && i < d->items.n; i++) {
        const tn_pair *p = tn_as_pair(d->items.at[i]);
        attrs = tn_dict_set(n->ctx, attrs, p->key, p->value);
    }
    const char *name =
        tn_strf(n->ctx, "nn.%s_pool%dd%s", kind, w->rank, indexed ? "_with_indices" : "");
    const tn_expr *y = onnx_emit(n, name, attrs, x, NULL);
    if (!ceil || tn_is_error(y))
        return y;
    return indexed ? drop_indexed(n, x, &given, y) : drop_results(n, x, &given, false, y);
}

static bool
pool_window(onnx_node *n, const tn_expr **x, window *w, double fill, bool *added)
{
    if (!spatial_rank(n, *x, w))
        return false;
    if (!onnx_attr(n, "kernel_shape"))
        return onnx_fail(n, TNB_INVALID, "attribute 'kernel_shape' is missing");
    return window_ints(n, "kernel_shape", w->kernel, w->rank, 1, 1) &&
           read_window(n, x, w, fill, added);
}

static bool
import_max_pool(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    window w = {0};
    int64_t order = onnx_attr_int(n, "storage_order", 0);
    bool added = false;
    tnb_dtype d = onnx_dtype(x);
    double least = n->failed || tnb_dtype_is_float(d) ? -INFINITY : d.code == TNB_INT ? -128 : 0;
    /* indices count in the input without paddings */
    if (!pool_window(n, &x, &w, least, n->n_out < 2 ? &added : NULL))
        return false;
    if (n->n_out < 2)
        return onnx_ret(n, emit_pool(n, "max", x, &w, false, NULL));
    return onnx_ret(n, emit_pool(n, "max", x, &w, false,
                                 tn_dictv(n->ctx, "storage_order", tn_i64(n->ctx, order), NULL)));
}

/* Averages where paddings that are part of `x` do not count: the same windows over ones tell the
 * share of data in each. */
static bool
average_of_data(onnx_node *n, const tn_expr *plain, const tn_expr *x)
{
    window w = {0};
    bool added;
    tn_list dims;
    const tn_node *all = tn_dictv(n->ctx, "count_include_pad", tn_bool(n->ctx, true), NULL);
    if (!onnx_dims(n, plain, &dims))
        return false;
    const tn_expr *ones = onnx_full(n, dims.at, dims.n, onnx_dtype(plain), 1);
    if (!pool_window(n, &ones, &w, 0, &added))
        return false;
    return onnx_ret(n, onnx_bin(n, "divide", emit_pool(n, "avg", x, &w, false, all),
                                emit_pool(n, "avg", ones, &w, false, all)));
}

static bool
import_average_pool(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0);
    window w = {0};
    bool padded = onnx_attr_int(n, "count_include_pad", 0) != 0, added = false;
    const tn_expr *plain = x;
    if (!pool_window(n, &x, &w, 0, &added))
        return false;
    if (added && !padded) /* the share of each window that is data */
        return average_of_data(n, plain, x);
    return onnx_ret(n, emit_pool(n, "avg", x, &w, false,
                                 tn_dictv(n->ctx, "count_include_pad", tn_bool(n->ctx, padded),
                                          NULL)));
}

/* (sum of |x|^p)^(1/p): the average over the window times its size. */
static bool
import_lp_pool(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *y;
    window w = {0};
    double p = n->version < 2 ? onnx_attr_float(n, "p", 2) : (double)onnx_attr_int(n, "p", 2),
           size = 1;
    bool added;
    if (!pool_window(n, &x, &w, 0, &added))
        return false;
    for (int i = 0; i < w.rank; i++)
        size *= (double)w.kernel[i];
    y = onnx_bin_num(n, "power", onnx_un(n, "abs", x), p);
    y = emit_pool(n, "avg", y, &w, true,
                  tn_dictv(n->ctx, "count_include_pad", tn_bool(n->ctx, true), NULL));
    return onnx_ret(n, onnx_bin_num(n, "power", onnx_bin_num(n, "multiply", y, size), 1 / p));
}

static uint32_t
spatial_axes(onnx_node *n, const tn_expr *x, int64_t *axes)
{
    int64_t r = onnx_rank(n, x);
    if (r >= 0 && r < 3)
        onnx_fail(n, TNB_SHAPE, "the input has rank %" PRId64 ", expected 3 or more", r);
    for (int64_t i = 2; i < r && i < ONNX_MAX_DIMS; i++)
        axes[i - 2] = i;
    return r > 2 ? (uint32_t)r - 2 : 0;
}

static bool
global_pool(onnx_node *n, const char *op)
{
    int64_t axes[ONNX_MAX_DIMS];
    const tn_expr *x = onnx_in(n, 0);
    uint32_t count = spatial_axes(n, x, axes);
    return onnx_ret(n, onnx_reduce(n, op, x, axes, count, true));
}

static bool
import_global_average_pool(onnx_node *n)
{
    return global_pool(n, "mean");
}

static bool
import_global_max_pool(onnx_node *n)
{
    return global_pool(n, "max");
}

static bool
import_global_lp_pool(onnx_node *n)
{
    int64_t axes[ONNX_MAX_DIMS];
    double p = n->version < 2 ? onnx_attr_float(n, "p", 2) : (double)onnx_attr_int(n, "p", 2);
    const tn_expr *x = onnx_in(n, 0);
    uint32_t count = spatial_axes(n, x, axes);
    x = onnx_reduce(n, "sum", onnx_bin_num(n, "power", onnx_un(n, "abs", x), p), axes, count, true);
    return onnx_ret(n, onnx_bin_num(n, "power", x, 1 / p));
}

/* Values back to the places that MaxPool's indices name; indices count in the default output. */
static bool
import_max_unpool(onnx_node *n)
{
    const tn_expr *x = onnx_in(n, 0), *places = onnx_in(n, 1);
    window w = {0};
    tn_ctx *ctx = n->ctx;
    int64_t flat = -1;
    const tn_expr *dims[ONNX_MAX_DIMS], *zeros[ONNX_MAX_DIMS], *more[ONNX_MAX_DIMS], *const *out,
        *total = tn_i64(ctx, 1);
    uint32_t count;
    tn_list in;
    if (!pool_window(n, &x, &w, 0, NULL) || !onnx_dims(n, x, &in))
        return false;
    for (int i = 0; i < w.rank + 2; i++) {
        dims[i] = in.at[i];
        if (i >= 2) /* (extent - 1) * stride + kernel - pads */
            dims[i] =
                onnx_simplify(n, tn_add(ctx, tn_mul(ctx, dims[i], tn_i64(ctx, w.strides[i - 2])),
                                        tn_i64(ctx, w.kernel[i - 2] - w.strides[i - 2] -
                                                        w.pads[i - 2] - w.pads[w.rank + i - 2])));
        total = onnx_simplify(n, tn_mul(ctx, total, dims[i]));
        zeros[i] = tn_i64(ctx, 0);
    }
    if (!onnx_bind(n, dims, (uint32_t)w.rank + 2, NULL))
        return false;
    const tn_expr *y =
        onnx_emit(n, "scatter_elements",
                  tn_dictv(ctx, "axis", tn_i64(ctx, 0), "reduction", tn_string(ctx, "update"),
                           NULL),
                  onnx_full(n, &total, 1, onnx_dtype(x), 0), onnx_reshape_ints(n, places, &flat, 1),
                  onnx_reshape_ints(n, x, &flat, 1), NULL);
    y = onnx_reshape(n, y, dims, (uint32_t)w.rank + 2);
    if (onnx_has(n, 2)) {
        if (!onnx_elems(n, 2, "the output's shape", &out, &count))
            return false;
        if (count != (uint32_t)w.rank + 2)
            return onnx_fail(n, TNB_SHAPE, "the output's shape has %u entries, expected %d", count,
                             w.rank + 2);
        for (uint32_t i = 0; i < count; i++)
            more[i] = onnx_simplify(n, tn_sub(ctx, out[i], dims[i]));
        y = onnx_pad_at(n, y, zeros, more, "constant", NULL);
    }
    return onnx_ret(n, y);
}

const onnx_op onnx_conv_pool_ops[] = {
    {"Conv", 1, 0, 2, 3, 1, 1, import_conv, NULL, 0, NULL},
    {"ConvTranspose", 1, 0, 2, 3, 1, 1, import_conv_transpose, NULL, 0, NULL},
    {"MaxPool", 1, 0, 1, 1, 1, 2, import_max_pool, NULL, 0, NULL},
    {"AveragePool", 1, 0, 1, 1, 1, 1, import_average_pool, NULL, 0, NULL},
    {"LpPool", 1, 0, 1, 1, 1, 1, import_lp_pool, NULL, 0, NULL},
    {"GlobalAveragePool", 1, 0, 1, 1, 1, 1, import_global_average_pool, NULL, 0, NULL},
    {"GlobalMaxPool", 1, 0, 1, 1, 1, 1, import_global_max_pool, NULL, 0, NULL},
    {"GlobalLpPool", 1, 0, 1, 1, 1, 1, import_global_lp_pool, NULL, 0, NULL},
    {"MaxUnpool", 9, 0, 2, 3, 1, 1, import_max_unpool, NULL, 0, NULL},
    {0},
};
