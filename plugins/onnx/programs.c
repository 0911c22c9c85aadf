/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that no graph operator expresses: each becomes a tensor program of its own. */
#include <inttypes.h>
#include "dynamic.h"
#include "tenon/core/op.h"
#include "tenon/core/registry.h"
#include "tenon/kit/te.h"

enum { MAX_SPATIAL = 3 };

/* ---- scalar arithmetic; `ctx` must be in scope ---- */

static const tn_expr *
inside(tn_ctx *ctx, const tn_expr *i, const tn_expr *extent)
{
    return tn_and_of(ctx, tn_ge_of(ctx, i, tn_i64(ctx, 0)), tn_lt_of(ctx, i, extent));
}

/* What sums of `d` are computed in. */
static tnb_dtype
wide(tnb_dtype d)
{
    return tnb_dtype_is_float(d) && d.bits < 32 ? TNB_F32 : d;
}

static bool
finish(onnx_node *n, tnk_te *te, const char *hint, const tn_expr *const *inputs, uint32_t count,
       const tn_node *out)
{
    if (n->failed || !out || tn_is_error(out))
        return false;
    return onnx_ret(n, tnk_te_call(te, n->imp->b, hint, inputs, count, &out, 1));
}

static bool
spatial_ints(onnx_node *n, const char *name, int64_t *out, uint32_t want, int64_t otherwise,
             int64_t least)
{
    int64_t v[2 * MAX_SPATIAL];
    int have = onnx_attr_ints(n, name, v, 2 * MAX_SPATIAL);
    if (n->failed)
        return false;
    if (have >= 0 && have != (int)want)
        return onnx_fail(n, TNB_INVALID, "attribute '%s' has %d entries, expected %u", name, have,
                         want);
    for (uint32_t i = 0; i < want; i++) {
        out[i] = have < 0 ? otherwise : v[i];
        if (out[i] < least || out[i] > INT32_MAX)
            return onnx_fail(n, TNB_INVALID,
                             "entry %u of attribute '%s' is %" PRId64 ", expected %" PRId64
                             " to %d",
                             i, name, out[i], least, INT32_MAX);
    }
    return true;
}

/* ---- BitCast ---- */

static bool
import_bit_cast(onnx_node *n)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *x = onnx_in(n, 0);
    int64_t to = onnx_attr_int(n, "to", 0);
    tnb_dtype d = tnb_onnx_dtype(to), from = onnx_dtype(x);
    tn_list dims;
    if (n->failed || !onnx_dims(n, x, &dims))
        return false;
    if (!d.bits)
        return onnx_fail(n, TNB_UNSUPPORTED,
                         "attribute 'to' is %" PRId64 " (%s), a type that is not supported", to,
                         tnb_onnx_type_name(to));
    if (tnb_dtype_bytes(d) != tnb_dtype_bytes(from) || (d.bits < 8) != (from.bits < 8))
        return onnx_fail(n, TNB_TYPE, "attribute 'to' is %s, which is not as wide as %s",
                         tnb_dtype_print(d).s, tnb_dtype_print(from).s);
    if (tnb_dtype_eq(d, from))
        return onnx_ret(n, x);
    /* a boolean's byte is 0 or 1 */
    if (d.code == TNB_BOOL || from.code == TNB_BOOL)
        return onnx_ret(n, onnx_astype(n, x, d));
    const tn_op *op = tn_find_op(tn_ctx_registry(ctx), "tirx.reinterpret", NULL);
    if (!op)
        return onnx_fail(n, TNB_INTERNAL, "there is no intrinsic 'tirx.reinterpret'");
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *in = tnk_te_input(te, "X", x->type);
    tnk_stage *s = tnk_te_stage(te, "bits", dims.at, dims.n, d);
    const tn_expr *v = tnk_te_read_at(te, in, s->axes, s->n_axes);
    v = tn_scalar_call(ctx, d, tn_op_ref_of(ctx, op), (tn_list){&v, 1}, NULL);
    return finish(n, te, "bit_cast", &x, 1, tnk_te_define(s, v));
}

/* ---- TensorScatter ---- */

static bool
import_tensor_scatter(onnx_node *n)
{
    static const char *const modes[] = {"linear", "circular", NULL};
    tn_ctx *ctx = n->ctx;
    const tn_expr *in[3] = {onnx_in(n, 0), onnx_in(n, 1), NULL};
    int mode = onnx_attr_choice(n, "mode", "linear", modes);
    int64_t axis = onnx_attr_int(n, "axis", -2), rank = onnx_rank(n, in[0]);
    uint32_t count = onnx_has(n, 2) ? 3 : 2;
    tn_list past, update;
    if (rank < 0 || mode < 0 || !onnx_axis(n, rank, &axis) || !onnx_dims(n, in[0], &past) ||
        !onnx_dims(n, in[1], &update))
        return false;
    if (axis == 0 || update.n != past.n)
        return onnx_fail(n, TNB_SHAPE, "an update of type %s cannot be written along axis %" PRId64,
                         onnx_type_text(n->imp, in[1]->type), axis);
    /* as many entries as the cache has, or fewer */
    const tn_expr *shown[2] = {update.at[axis], past.at[axis]}, *more = update.at[axis],
                  *fits = onnx_simplify(n, tn_le(ctx, shown[0], shown[1]));
    onnx_demand d = {tn_is_int_const(fits, 1) ? NULL : fits, shown, 2,
                     "an update of {1} entries does not fit a cache of {2}"};
    if (tn_is_int_const(fits, 0))
        return onnx_fail(n, TNB_SHAPE, "an update of type %s does not fit a cache of type %s",
                         onnx_type_text(n->imp, in[1]->type), onnx_type_text(n->imp, in[0]->type));
    if (d.ok && !onnx_bind(n, &more, 1, &d))
        return false;
    in[1] = onnx_fix_extents(n, in[1], tn_list_with(ctx, past, (uint32_t)axis, more), "the update");
    if (count == 3)
        in[2] = onnx_fix_extents(n, onnx_astype(n, onnx_in(n, 2), TNB_I64), (tn_list){past.at, 1},
                                 "'write_indices'");
    if (n->failed || !onnx_dims(n, in[1], &update))
        return false;
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *a = tnk_te_input(te, "past", in[0]->type),
                  *u = tnk_te_input(te, "update", in[1]->type), *w = NULL;
    if (count == 3)
        w = tnk_te_input(te, "write_indices", in[2]->type);
    tnk_stage *s = tnk_te_stage(te, "present", past.at, past.n, onnx_dtype(in[0]));
    const tn_expr *idx[ONNX_MAX_DIMS], *i = s->axes[axis];
    const tn_expr *at = w ? tnk_te_read(te, w, s->axes[0], NULL) : NULL;
    if (w) { /* the first place that is written: of a cache that is no circle the last one is in it, too */
        const tn_expr *room =
            tn_sub(ctx, tnk_te_expr(te, past.at[axis]), tnk_te_expr(te, update.at[axis]));
        at = tnk_te_index(ctx, at, mode == 0 ? tn_addi(ctx, room, 1) : tn_i64(ctx, INT64_MAX),
                          false, n->op, "write_indices");
    }
    i = w ? tn_sub(ctx, i, at) : i;
    if (mode == 1)
        i = tn_floormod(ctx, i, tnk_te_expr(te, past.at[axis]));
    for (uint32_t k = 0; k < past.n; k++)
        idx[k] = k == axis ? i : s->axes[k];
    const tn_expr *v =
        tn_if_then_else(ctx, inside(ctx, i, tnk_te_expr(te, update.at[axis])),
                        tnk_te_read_at(te, u, idx, past.n), tnk_te_read_at(te, a, s->axes, past.n));
    return finish(n, te, "tensor_scatter", in, count, tnk_te_define(s, v));
}

/* ---- Col2Im ---- */

/* Rows of the columns by the size of a block; NULL after an error. */
static const tn_expr *
channels_of(onnx_node *n, const tn_expr *rows, int64_t size)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *channels = onnx_simplify(n, tn_floordivi(ctx, rows, size));
    int64_t v;
    if (tn_int_value(rows, &v) && v % size) {
        onnx_fail(n, TNB_SHAPE,
                  "%" PRId64 " rows of columns are no multiple of a block's %" PRId64 " elements",
                  v, size);
        return NULL;
    }
    onnx_demand d = {tn_eq_of(ctx, tn_floormodi(ctx, rows, size), tn_i64(ctx, 0)), &rows, 1,
                     tn_strf(ctx,
                             "{1} rows of columns are no multiple of a block's %" PRId64
                             " elements",
                             size)};
    return tn_is(rows, TN_KIND_INT_IMM) || size == 1 || onnx_bind(n, &channels, 1, &d) ? channels
                                                                                       : NULL;
}

/* Each pixel is the sum over the places of a block at which it was read. */
static bool
import_col2im(onnx_node *n)
{
    tn_ctx *ctx = n->ctx;
    const tn_expr *x = onnx_in(n, 0), *dims[2 + MAX_SPATIAL];
    int64_t image[MAX_SPATIAL], block[MAX_SPATIAL], strides[MAX_SPATIAL], dilations[MAX_SPATIAL],
        pads[2 * MAX_SPATIAL], blocks[MAX_SPATIAL], size = 1, total = 1, columns;
    uint32_t rank, n_block;
    tn_list in;
    if (!onnx_dims(n, x, &in) || !onnx_ints(n, 1, "the image's shape", image, MAX_SPATIAL, &rank) ||
        !onnx_ints(n, 2, "the block's shape", block, MAX_SPATIAL, &n_block) ||
        !spatial_ints(n, "strides", strides, rank, 1, 1) ||
        !spatial_ints(n, "dilations", dilations, rank, 1, 1) ||
        !spatial_ints(n, "pads", pads, 2 * rank, 0, 0))
        return false;
    if (n_block != rank || rank < 1 || in.n != 3)
        return onnx_fail(n, TNB_SHAPE,
                         "columns of type %s, an image of %u axes and blocks of %u do not fit",
                         onnx_type_text(n->imp, x->type), rank, n_block);
    for (uint32_t i = 0; i < rank; i++) {
        bool sizes =
            image[i] >= 0 && image[i] <= INT32_MAX && block[i] >= 1 && block[i] <= INT32_MAX;
        int64_t span =
            sizes ? image[i] + pads[i] + pads[rank + i] - (block[i] - 1) * dilations[i] - 1 : -1;
        if (span < 0)
            return onnx_fail(n, TNB_SHAPE,
                             "axis %u of the image has %" PRId64
                             " pixels, where no block of %" PRId64 " fits",
                             i, image[i], block[i]);
        blocks[i] = span / strides[i] + 1;
        if (!tnb_mul_i64(size, block[i], &size) || !tnb_mul_i64(total, blocks[i], &total))
            return onnx_fail(n, TNB_SHAPE, "the blocks have more elements than can be counted");
        dims[2 + i] = tn_i64(ctx, image[i]);
    }
    if (tn_int_value(in.at[2], &columns) && columns != total)
        return onnx_fail(n, TNB_SHAPE, "there are %" PRId64 " columns, expected %" PRId64, columns,
                         total);
    if (!tn_int_value(in.at[2], &columns) && !n->failed) {
        in = tn_list_with(ctx, in, 2, tn_i64(ctx, total)); /* checked at run time */
        x = onnx_match_extents(n, x, in, "the data", "columns");
    }
    if (tn_is_error(x))
        return false;
    dims[0] = in.at[0];
    dims[1] = channels_of(n, in.at[1], size);
    if (!dims[1])
        return false;
    tnb_dtype d = onnx_dtype(x);
    tnk_te *te = tnk_te_new(ctx);
    const tn_node *a = tnk_te_input(te, "X", x->type);
    tnk_stage *s = tnk_te_stage(te, "col2im", dims, 2 + rank, d);
    const tn_expr *place = tn_muli(ctx, s->axes[1], size), *column = tn_i64(ctx, 0),
                  *seen = tn_bool(ctx, true);
    int64_t each = size;
    for (uint32_t i = 0; i < rank; i++) {
        const tn_expr *k = tnk_te_reduce_axis(s, "k", tn_i64(ctx, block[i]));
        const tn_expr *at =
            tn_sub(ctx, tn_addi(ctx, s->axes[2 + i], pads[i]), tn_muli(ctx, k, dilations[i]));
        const tn_expr *b = tn_floordivi(ctx, at, strides[i]);
        if (strides[i] > 1)
            seen = tn_and_of(ctx, seen,
                             tn_eq_of(ctx, tn_floormodi(ctx, at, strides[i]), tn_i64(ctx, 0)));
        seen = tn_and_of(ctx, seen, inside(ctx, b, tn_i64(ctx, blocks[i])));
        each /= block[i];
        place = tn_add(ctx, place, tn_muli(ctx, k, each));
        column = tn_add(ctx, tn_muli(ctx, column, blocks[i]), b);
    }
    const tn_expr *v =
        tn_if_then_else(ctx, seen, tnk_te_read(te, a, s->axes[0], place, column, NULL),
                        tn_literal(ctx, d, 0));
    return finish(n, te, "col2im", &x, 1, tnk_te_sum(s, v));
}

/* ---- DeformConv ---- */

typedef struct deform {
    int rank; /* spatial */
    int64_t kernel[MAX_SPATIAL], strides[MAX_SPATIAL], dilations[MAX_SPATIAL],
        pads[2 * MAX_SPATIAL], taps;
    int64_t group, offset_group;
    tn_list x, w, offset; /* extents */
    const tn_expr *in[4]; /* data, weight, offsets, mask */
} deform;

/* Data of `channels`, and an offset and a factor of the mask for each place of the result. */
static bool
fix_deform(onnx_node *n, deform *p, int64_t channels)
{
    tn_ctx *ctx = n->ctx;
    tn_list dims = tn_list_with(ctx, p->x, 1, tn_i64(ctx, channels));
    p->in[0] = onnx_fix_extents(n, p->in[0], dims, "the data");
    dims = tn_list_with(ctx, dims, 1, tn_i64(ctx, p->offset_group * p->taps * p->rank));
    for (int i = 0; i < p->rank; i++) {
        int64_t around =
            p->pads[i] + p->pads[p->rank + i] - (p->kernel[i] - 1) * p->dilations[i] - 1;
        const tn_expr *d = tn_floordivi(ctx, tn_addi(ctx, p->x.at[2 + i], around), p->strides[i]);
        dims = tn_list_with(ctx, dims, (uint32_t)(2 + i), onnx_simplify(n, tn_addi(ctx, d, 1)));
    }
    p->in[2] = onnx_fix_extents(n, p->in[2], dims, "the tensor of offsets");
    p->offset = dims;
    if (p->in[3])
        p->in[3] =
            onnx_fix_extents(n, p->in[3],
                             tn_list_with(ctx, dims, 1, tn_i64(ctx, p->offset_group * p->taps)),
                             "the mask");
    return !n->failed;
}

static bool
read_deform(onnx_node *n, deform *p)
{
    for (uint32_t i = 0; i < 3; i++)
        p->in[i] = onnx_in(n, i);
    if (onnx_has(n, 4))
        p->in[3] = onnx_in(n, 4);
    int64_t rank = onnx_rank(n, p->in[0]), c, o, per, have;
    p->group = onnx_attr_int(n, "group", 1);
    p->offset_group = onnx_attr_int(n, "offset_group", 1);
    if (rank < 0 || !onnx_dims(n, p->in[0], &p->x) || !onnx_dims(n, p->in[1], &p->w) ||
        !onnx_dims(n, p->in[2], &p->offset))
        return false;
    if (rank < 3 || rank > 2 + MAX_SPATIAL || p->w.n != rank || p->offset.n != rank)
        return onnx_fail(n, TNB_SHAPE,
                         "data, weight and offsets have the ranks %u, %u and %u, expected three of "
                         "3, 4 or 5",
                         p->x.n, p->w.n, p->offset.n);
    p->rank = (int)rank - 2;
    uint32_t r = (uint32_t)p->rank;
    if (!spatial_ints(n, "strides", p->strides, r, 1, 1) ||
        !spatial_ints(n, "dilations", p->dilations, r, 1, 1) ||
        !spatial_ints(n, "pads", p->pads, 2 * r, 0, 0) ||
        !spatial_ints(n, "kernel_shape", p->kernel, r, 0, 0))
        return false;
    p->taps = 1;
    for (int i = 0; i < p->rank; i++) {
        int64_t k = onnx_dim(p->in[1], 2 + i);
        if (k < 0)
            return onnx_unknown(n, "the extents of the weight have");
        if (k < 1 || (p->kernel[i] && p->kernel[i] != k))
            return onnx_fail(n, TNB_SHAPE,
                             "extent %d of the weight is %" PRId64
                             ", attribute 'kernel_shape' says %" PRId64,
                             2 + i, k, p->kernel[i]);
        p->kernel[i] = k;
        p->taps *= k;
    }
    o = onnx_dim(p->in[1], 0);
    per = onnx_dim(p->in[1], 1);
    if (o < 0 || per < 0)
        return onnx_unknown(n, "the extents of the weight have");
    c = onnx_dim(p->in[0], 1);
    c = c < 0 ? per * p->group : c;
    have = onnx_dim(p->in[2], 1);
    have = have < 0 ? p->offset_group * p->taps * p->rank : have;
    if (p->group < 1 || p->offset_group < 1 || c < 1 || o < 1 || c != per * p->group ||
        o % p->group || c % p->offset_group || have != p->offset_group * p->taps * p->rank)
        return onnx_fail(n, TNB_SHAPE,
                         "%" PRId64 " channels in %" PRId64 " groups and %" PRId64
                         " offset groups, weights of %" PRId64 " to %" PRId64
                         " channels and %" PRId64 " offsets do not fit",
                         c, p->group, p->offset_group, per, o, have);
    return fix_deform(n, p, c);
}

/* Channel `c` of the image at the place that kernel tap `k` reads for the output element `o`:
 * linear interpolation, zero outside. */
static const tn_expr *
deformed(tn_ctx *ctx, tnk_te *te, const deform *p, const tn_node *x, const tn_node *offset,
         const tn_expr *batch, const tn_expr *c, const tn_expr *group, const tn_expr *const *k,
         const tn_expr *const *o, const tn_expr *tap)
{
    tnb_dtype d = wide(onnx_dtype(p->in[0]));
    const tn_expr *low[MAX_SPATIAL], *part[MAX_SPATIAL], *sum = NULL;
    for (int i = 0; i < p->rank; i++) {
        const tn_expr *at[2 + MAX_SPATIAL] = {batch}, *base;
        at[1] =
            tn_addi(ctx, tn_muli(ctx, tn_add(ctx, tn_muli(ctx, group, p->taps), tap), p->rank), i);
        memcpy(at + 2, o, (size_t)p->rank * sizeof *o);
        base = tn_subi(ctx,
                       tn_add(ctx, tn_muli(ctx, o[i], p->strides[i]),
                              tn_muli(ctx, k[i], p->dilations[i])),
                       p->pads[i]);
        const tn_expr *v =
            tn_add(ctx, tn_cast_to(ctx, d, base),
                   tn_cast_to(ctx, d, tnk_te_read_at(te, offset, at, (uint32_t)p->rank + 2)));
        const tn_expr *floor = tn_intrin1(ctx, TN_INTRIN_floor, v);
        low[i] = tn_cast_to(ctx, TNB_I64, floor);
        part[i] = tn_sub(ctx, v, floor);
    }
    for (int corner = 0; corner < 1 << p->rank; corner++) {
        const tn_expr *at[2 + MAX_SPATIAL] = {batch, c}, *in = tn_bool(ctx, true), *w = NULL;
        for (int i = 0; i < p->rank; i++) {
            bool upper = corner >> i & 1;
            const tn_expr *weight = upper ? part[i] : tn_sub(ctx, tn_literal(ctx, d, 1), part[i]);
            at[2 + i] = upper ? tn_addi(ctx, low[i], 1) : low[i];
            in = tn_and_of(ctx, in, inside(ctx, at[2 + i], tnk_te_expr(te, p->x.at[2 + i])));
            w = w ? tn_mul(ctx, w, weight) : weight;
        }
        const tn_expr *v = tn_cast_to(ctx, d, tnk_te_read_at(te, x, at, (uint32_t)p->rank + 2));
        v = tn_mul(ctx, tn_if_then_else(ctx, in, v, tn_literal(ctx, d, 0)), w);
        sum = sum ? tn_add(ctx, sum, v) : v;
    }
    return sum;
}

/* First the samples [batch, channel, tap, place...], then their products with the weights. */
static bool
import_deform_conv(onnx_node *n)
{
    tn_ctx *ctx = n->ctx;
    deform p = {0};
    if (!read_deform(n, &p))
        return false;
    tnk_te *te = tnk_te_new(ctx);
    uint32_t r = (uint32_t)p.rank, count = p.in[3] ? 4 : 3;
    int64_t channels = onnx_dim(p.in[0], 1), per = onnx_dim(p.in[1], 1),
            outs = onnx_dim(p.in[1], 0);
    tnb_dtype d = onnx_dtype(p.in[0]), w = wide(d);
    const tn_node *x = tnk_te_input(te, "X", p.in[0]->type),
                  *weight = tnk_te_input(te, "W", p.in[1]->type),
                  *offset = tnk_te_input(te, "offset", p.in[2]->type),
                  *mask = count == 4 ? tnk_te_input(te, "mask", p.in[3]->type) : NULL;
    const tn_expr *dims[3 + MAX_SPATIAL] = {p.x.at[0], tn_i64(ctx, channels), tn_i64(ctx, p.taps)};
    memcpy(dims + 3, p.offset.at + 2, r * sizeof *dims);
    tnk_stage *s = tnk_te_stage(te, "samples", dims, 3 + r, w);
    const tn_expr *k[MAX_SPATIAL], *rest = s->axes[2];
    for (int i = p.rank - 1; i >= 0; i--) {
        k[i] = tn_floormodi(ctx, rest, p.kernel[i]);
        rest = tn_floordivi(ctx, rest, p.kernel[i]);
    }
    const tn_expr *group = tn_floordivi(ctx, s->axes[1], channels / p.offset_group);
    const tn_expr *v =
        deformed(ctx, te, &p, x, offset, s->axes[0], s->axes[1], group, k, s->axes + 3, s->axes[2]);
    if (mask) {
        const tn_expr *at[2 + MAX_SPATIAL] = {s->axes[0],
                                              tn_add(ctx, tn_muli(ctx, group, p.taps), s->axes[2])};
        memcpy(at + 2, s->axes + 3, r * sizeof *at);
        v = tn_mul(ctx, v, tn_cast_to(ctx, w, tnk_te_read_at(te, mask, at, 2 + r)));
    }
    const tn_node *samples = tnk_te_define(s, v);
    dims[1] = tn_i64(ctx, outs);
    memcpy(dims + 2, p.offset.at + 2, r * sizeof *dims);
    s = tnk_te_stage(te, "deform_conv", dims, 2 + r, w);
    const tn_expr *c = tnk_te_reduce_axis(s, "rc", tn_i64(ctx, per)),
                  *tap = tnk_te_reduce_axis(s, "tap", tn_i64(ctx, p.taps)),
                  *first = tn_muli(ctx, tn_floordivi(ctx, s->axes[1], outs / p.group), per);
    const tn_expr *from[3 + MAX_SPATIAL] = {s->axes[0], tn_add(ctx, first, c), tap},
                            *by[2 + MAX_SPATIAL] = {s->axes[1], c};
    memcpy(from + 3, s->axes + 2, r * sizeof *from);
    rest = tap;
    for (int i = p.rank - 1; i >= 0; i--) {
        by[2 + i] = tn_floormodi(ctx, rest, p.kernel[i]);
        rest = tn_floordivi(ctx, rest, p.kernel[i]);
    }
    const tn_node *out =
        tnk_te_sum(s, tn_mul(ctx, tnk_te_read_at(te, samples, from, 3 + r),
                             tn_cast_to(ctx, w, tnk_te_read_at(te, weight, by, 2 + r))));
    const tn_expr *y = tnk_te_call(te, n->imp->b, "deform_conv", p.in, count, &out, 1);
    y = onnx_emit_call(n, y);
    if (onnx_has(n, 3)) {
        const tn_expr *one[2 + MAX_SPATIAL];
        for (uint32_t i = 0; i < 2 + r; i++)
            one[i] = tn_i64(ctx, i == 1 ? outs : 1);
        const tn_expr *bias = onnx_fix_extents(n, onnx_astype(n, onnx_in(n, 3), w),
                                               (tn_list){one + 1, 1}, "the bias");
        y = onnx_bin(n, "add", y, onnx_reshape(n, bias, one, 2 + r));
    }
    return onnx_ret(n, onnx_astype(n, y, d));
}

const onnx_op onnx_program_ops[] = {
    {"BitCast", 26, 0, 1, 1, 1, 1, import_bit_cast, NULL, 0, NULL},
    {"TensorScatter", 24, 0, 2, 3, 1, 1, import_tensor_scatter, NULL, 0, NULL},
    {"Col2Im", 18, 0, 3, 3, 1, 1, import_col2im, NULL, 0, NULL},
    {"DeformConv", 19, 0, 3, 5, 1, 1, import_deform_conv, NULL, 0, NULL},
    {0},
};
