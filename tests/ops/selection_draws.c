/* SPDX-License-Identifier: Apache-2.0 */
/* Random inputs of the operators that select, with all that is awkward: nothing at all, one
 * element, equal scores, NaN, boxes without an area, thresholds that leave nothing. */
#include "selection.h"

#include <math.h>
#include <stdlib.h>

typedef struct dice {
    uint64_t state;
} dice;

static uint32_t
roll(dice *d, uint32_t n)
{
    d->state = d->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(d->state >> 33) % n;
}

/* An extent: often 0 or 1. */
static int64_t
extent(dice *d, uint32_t most)
{
    return roll(d, 5) == 0 ? roll(d, 2) : 1 + roll(d, most);
}

static int64_t
size_of(const array *a)
{
    int64_t n = 1;
    for (int i = 0; i < a->ndim; i++)
        n *= a->dim[i];
    return n;
}

static array
scalar(tnb_dtype d, double v)
{
    array a = array_new(d, 0, (const int64_t[]){-1});
    a.v[0] = v;
    return a;
}

void
selection_free(array *a, int n)
{
    for (int i = 0; i < n; i++) {
        free(a[i].v);
        a[i].v = NULL;
    }
}

uint32_t
selection_args(tops *t, const selection *s, const tn_expr *const *tensors, const tn_expr **args)
{
    uint32_t n = 0;
    for (; s->args[n]; n++)
        args[n] = tensors[n];
    for (const char *f = s->flags; f && *f; f++)
        args[n++] = tn_bool(t->ctx, *f == '1');
    if (s->flags && s->axis >= 0)
        args[n++] = tn_i64(t->ctx, s->axis);
    return n;
}

/* ---- nonzero, unique ---- */

static array
small_numbers(dice *d, tnb_dtype type, int ndim)
{
    int64_t dim[4];
    for (int i = 0; i < ndim; i++)
        dim[i] = extent(d, 6);
    array x = array_new(type, ndim, dim);
    uint32_t range = 1 + roll(d, 4);
    for (int64_t i = 0; i < size_of(&x); i++) {
        x.v[i] = (double)roll(d, 2 * range + 1) - range;
        if (tnb_dtype_is_bool(type))
            x.v[i] = roll(d, 2);
        if (tnb_dtype_is_float(type) && roll(d, 6) == 0)
            x.v[i] = roll(d, 2) ? (double)NAN : -INFINITY;
    }
    return x;
}

static int
draw_nonzero(const selection *s, uint64_t seed, array *in, array *out)
{
    dice d = {seed};
    in[0] = small_numbers(&d, s->dtypes[0], (int)strlen(s->args[0]));
    want_nonzero(&in[0], &out[0]);
    return 1;
}

static int
draw_unique(const selection *s, uint64_t seed, array *in, array *out)
{
    dice d = {seed};
    array all[4];
    int n = 0;
    in[0] = small_numbers(&d, s->dtypes[0], (int)strlen(s->args[0]));
    want_unique(&in[0], s->flags[0] == '1', s->axis, all);
    for (int i = 0; i < 4; i++) {
        if (i == 0 || s->flags[i] == '1')
            out[n++] = all[i];
        else
            free(all[i].v);
    }
    return n;
}

/* ---- boxes ---- */

static void
draw_boxes(dice *d, double *v, int64_t n, int64_t width, int64_t start)
{
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < 4; k++)
            v[i * width + start + k] = roll(d, 9); /* some without an area, some turned round */
}

static double
draw_score(dice *d, bool ties)
{
    if (roll(d, 12) == 0)
        return NAN;
    return ties ? roll(d, 8) / 8.0 : roll(d, 1 << 20) / (double)(1 << 20);
}

static int
draw_all_class_nms(const selection *s, uint64_t seed, array *in, array *out)
{
    dice d = {seed};
    int64_t b = extent(&d, 3), c = extent(&d, 3), n = extent(&d, 12);
    const int64_t most[] = {3, 0, INT64_C(1) << 53, 1, -5, 100};
    const double overlap[] = {0.37, 0.0, 0.95, 0.15}, least[] = {0.3, -INFINITY, 2, 0, 0.3};
    in[0] = array_new(TNB_F32, 3, (const int64_t[]){b, n, 4});
    in[1] = array_new(TNB_F32, 3, (const int64_t[]){b, c, n});
    draw_boxes(&d, in[0].v, b * n, 4, 0);
    for (int64_t i = 0; i < b * c * n; i++)
        in[1].v[i] = draw_score(&d, seed % 2);
    int64_t limit = most[roll(&d, 6)];
    in[2] = scalar(TNB_I64, (double)limit);
    in[3] = scalar(TNB_F32, (double)(float)overlap[roll(&d, 4)]);
    in[4] = scalar(TNB_F32, (double)(float)least[roll(&d, 5)]);
    array rows;
    want_all_class_nms(&in[0], &in[1], limit, in[3].v[0], in[4].v[0], &rows);
    if (s->variant == 0) {
        out[0] = rows;
        return 1;
    }
    int64_t total = rows.dim[0];
    if (s->variant == 1) {
        out[0] = rows;
        out[0].dim[0] = b * c * n;
        for (int64_t i = 3 * total; i < 3 * b * c * n; i++)
            out[0].v[i] = -1;
        out[1] = array_new(TNB_I64, 1, (const int64_t[]){1});
        out[1].v[0] = (double)total;
        return 2;
    }
    out[0] = array_new(TNB_I64, 3, (const int64_t[]){b, c * n, 2});
    out[1] = array_new(TNB_F32, 2, (const int64_t[]){b, c * n});
    out[2] = array_new(TNB_I64, 1, &b);
    for (int64_t i = 0; i < total; i++) {
        const double *row = rows.v + 3 * i;
        int64_t batch = (int64_t)row[0], at = batch * c * n + (int64_t)out[2].v[batch]++;
        out[0].v[2 * at] = row[1];
        out[0].v[2 * at + 1] = row[2];
        out[1].v[at] = array_at3(&in[1], batch, (int64_t)row[1], (int64_t)row[2]);
    }
    free(rows.v);
    return 3;
}

static const tn_node *
format_selected(tn_ctx *ctx)
{
    return tn_dictv(ctx, "output_format", tn_string(ctx, "selected"), NULL);
}

static const tn_node *
format_tensorflow(tn_ctx *ctx)
{
    return tn_dictv(ctx, "output_format", tn_string(ctx, "tensorflow"), NULL);
}

/* Rows of class, score and box. */
static array
draw_rows(dice *d, bool ties)
{
    int64_t b = extent(d, 3), n = extent(d, 10);
    array x = array_new(TNB_F32, 3, (const int64_t[]){b, n, 6});
    draw_boxes(d, x.v, b * n, 6, 2);
    for (int64_t i = 0; i < b * n; i++) {
        x.v[6 * i] = (double)roll(d, 4) - 1;
        x.v[6 * i + 1] = draw_score(d, ties);
    }
    return x;
}

static int
draw_valid_counts(const selection *s, uint64_t seed, array *in, array *out)
{
    dice d = {seed};
    in[0] = draw_rows(&d, true);
    int64_t b = in[0].dim[0], n = in[0].dim[1];
    out[0] = array_new(TNB_I32, 1, &b);
    out[1] = array_new(TNB_F32, 3, in[0].dim);
    out[2] = array_new(TNB_I32, 2, in[0].dim);
    for (int64_t i = 0; i < b; i++) {
        for (int64_t j = 0; j < n; j++) {
            const double *row = in[0].v + (i * n + j) * 6;
            if (!(row[1] > 0.25) || (s->variant && !(row[0] >= 0)))
                continue;
            int64_t at = i * n + (int64_t)out[0].v[i]++;
            memcpy(out[1].v + 6 * at, row, 6 * sizeof *row);
            out[2].v[at] = (double)j;
        }
        for (int64_t j = (int64_t)out[0].v[i]; j < n; j++) {
            for (int k = 0; k < 6; k++)
                out[1].v[(i * n + j) * 6 + k] = -1;
            out[2].v[i * n + j] = -1;
        }
    }
    return 3;
}

static const tn_node *
valid_any(tn_ctx *ctx)
{
    return tn_dictv(ctx, "score_threshold", tn_float_imm_of(ctx, TNB_F64, 0.25), "id_index",
                    tn_i64(ctx, -1), NULL);
}

static const tn_node *
valid_class(tn_ctx *ctx)
{
    return tn_dictv(ctx, "score_threshold", tn_float_imm_of(ctx, TNB_F64, 0.25), NULL);
}

/* By variant. */
static const nms_options nms_variants[] = {
    {.overlap = 0.4, .id = 0, .score = 1, .coord = 2, .indices = true},
    {.overlap = 0.4, .id = -1, .score = 1, .coord = 2, .most = 2, .top = 5, .to_bottom = true},
    {.overlap = 0.2, .id = 0, .score = 1, .coord = 2, .force = true, .most = 3},
    {.overlap = 0.6, .id = 0, .score = 1, .coord = 2, .sigma = 0.5, .least = 0.2, .indices = true},
};

static int
draw_nms(const selection *s, uint64_t seed, array *in, array *out)
{
    dice d = {seed};
    const nms_options *o = &nms_variants[s->variant];
    array all[3];
    in[0] = draw_rows(&d, o->sigma <= 0);
    int64_t b = in[0].dim[0], n = in[0].dim[1];
    in[1] = array_new(TNB_I32, 1, &b);
    in[2] = array_new(TNB_I32, 2, in[0].dim);
    for (int64_t i = 0; i < b; i++)
        in[1].v[i] = (double)roll(&d, (uint32_t)n + 1);
    for (int64_t i = 0; i < b * n; i++)
        in[2].v[i] = (double)roll(&d, 100);
    want_nms(&in[0], &in[1], &in[2], o, all);
    if (o->indices && o->sigma > 0) {
        memcpy(out, all, sizeof all);
        return 3;
    }
    memcpy(out, o->indices ? all + 1 : all, 2 * sizeof *all);
    selection_free(o->indices ? all : all + 1, o->indices ? 1 : 2);
    return o->indices ? 2 : 1;
}

static const tn_node *
nms_attrs(tn_ctx *ctx, int variant)
{
    const nms_options *o = &nms_variants[variant];
    return tn_dictv(ctx, "iou_threshold", tn_float_imm_of(ctx, TNB_F64, o->overlap), "id_index",
                    tn_i64(ctx, o->id), "score_index", tn_i64(ctx, o->score), "coord_start",
                    tn_i64(ctx, o->coord), "max_output_size", tn_i64(ctx, o->most ? o->most : -1),
                    "top_k", tn_i64(ctx, o->top ? o->top : -1), "force_suppress",
                    tn_bool(ctx, o->force), "return_indices", tn_bool(ctx, o->indices),
                    "invalid_to_bottom", tn_bool(ctx, o->to_bottom), "soft_nms_sigma",
                    tn_float_imm_of(ctx, TNB_F64, o->sigma), "score_threshold",
                    tn_float_imm_of(ctx, TNB_F64, o->least), NULL);
}

static const tn_node *
nms_0(tn_ctx *ctx)
{
    return nms_attrs(ctx, 0);
}

static const tn_node *
nms_1(tn_ctx *ctx)
{
    return nms_attrs(ctx, 1);
}

static const tn_node *
nms_2(tn_ctx *ctx)
{
    return nms_attrs(ctx, 2);
}

static const tn_node *
nms_3(tn_ctx *ctx)
{
    return nms_attrs(ctx, 3);
}

/* ---- boxes from anchors ---- */

static int
draw_multibox(const selection *s, uint64_t seed, array *in, array *out)
{
    dice d = {seed};
    int64_t b = extent(&d, 3), c = 1 + roll(&d, 4), n = extent(&d, 7);
    const double v[4] = {0.1, 0.2, 0.3, 0.4}, least = s->variant ? 0.3 : 0;
    in[0] = array_new(TNB_F32, 3, (const int64_t[]){b, c, n});
    in[1] = array_new(TNB_F32, 2, (const int64_t[]){b, 4 * n});
    in[2] = array_new(TNB_F32, 3, (const int64_t[]){1, n, 4});
    for (int k = 0; k < 3; k++)
        for (int64_t i = 0; i < size_of(&in[k]); i++)
            in[k].v[i] = roll(&d, 33) / 16.0 - 1;
    out[0] = array_new(TNB_F32, 3, (const int64_t[]){b, n, 4});
    out[1] = array_new(TNB_F32, 3, in[0].dim);
    for (int64_t i = 0; i < b; i++)
        for (int64_t j = 0; j < n; j++) {
            const double *a = in[2].v + 4 * j, *e = in[1].v + (i * n + j) * 4;
            double *box = out[0].v + (i * n + j) * 4, sum = 0;
            for (int k = 0; k < 2; k++) { /* x, y; the result has y first */
                double size = a[k + 2] - a[k], centre = e[k] * v[k] * size + (a[k] + a[k + 2]) / 2;
                double half = 0.5 * exp(e[k + 2] * v[k + 2]) * size;
                box[1 - k] = centre - half;
                box[3 - k] = centre + half;
            }
            for (int k = 0; s->variant && k < 4; k++)
                box[k] = fmax(0, fmin(1, box[k]));
            for (int64_t k = 0; k < c; k++)
                sum += exp(array_at3(&in[0], i, k, j));
            for (int64_t k = 0; k < c; k++) {
                double score = exp(array_at3(&in[0], i, k, j)) / sum;
                out[1].v[(i * c + k) * n + j] = score < least || (s->variant && k == 0) ? 0 : score;
            }
        }
    return 2;
}

static const tn_node *
multibox_attrs(tn_ctx *ctx, double least, bool clip)
{
    const tn_node *v[4];
    for (int i = 0; i < 4; i++)
        v[i] = tn_float_imm_of(ctx, TNB_F64, (i + 1) / 10.0);
    return tn_dictv(ctx, "variances", tn_array_of(ctx, tn_list_of(ctx, v, 4)), "threshold",
                    tn_float_imm_of(ctx, TNB_F64, least), "clip", tn_bool(ctx, clip),
                    "keep_background", tn_bool(ctx, !clip), NULL);
}

static const tn_node *
multibox_plain(tn_ctx *ctx)
{
    return multibox_attrs(ctx, 0, false);
}

static const tn_node *
multibox_clipped(tn_ctx *ctx)
{
    return multibox_attrs(ctx, 0.3, true);
}

/* ---- regions ---- */

enum { POOLED_H = 2, POOLED_W = 3, ALIGN_MEAN = 0, ALIGN_MAX = 1, ALIGN_CORNER = 2, POOL = 3 };

typedef struct align_options {
    int mode;
    int64_t samples;
    bool aligned, nhwc;
} align_options;
static const align_options align_variants[] = {
    {ALIGN_MEAN, 2, false, false},  {ALIGN_MEAN, 0, true, false}, {ALIGN_MAX, 0, false, true},
    {ALIGN_CORNER, 3, true, false}, {POOL, 0, false, false},
};

static double
pixel(const array *x, bool nhwc, int64_t b, int64_t c, int64_t y, int64_t z)
{
    return nhwc ? x->v[((b * x->dim[1] + y) * x->dim[2] + z) * x->dim[3] + c]
                : x->v[((b * x->dim[1] + c) * x->dim[2] + y) * x->dim[3] + z];
}

/* One sample, by float32 coordinates: the sum, or the largest, of the four pixels' shares. */
static double
sample(const array *x, const align_options *o, int64_t b, int64_t c, float y, float z, int64_t h,
       int64_t w)
{
    if (!(y >= -1 && y <= (float)h && z >= -1 && z <= (float)w) || !h || !w)
        return 0;
    y = fminf(fmaxf(y, 0), (float)(h - 1));
    z = fminf(fmaxf(z, 0), (float)(w - 1));
    int64_t y0 = (int64_t)y, z0 = (int64_t)z;
    double fy = y - (float)y0, fz = z - (float)z0, sum = 0, most = -INFINITY;
    for (int i = 0; i < 4; i++) {
        int64_t yi = y0 + i / 2, zi = z0 + i % 2;
        double v = (i / 2 ? fy : 1 - fy) * (i % 2 ? fz : 1 - fz) *
                   pixel(x, o->nhwc, b, c, yi < h ? yi : h - 1, zi < w ? zi : w - 1);
        sum += v;
        most = fmax(most, v);
    }
    return o->mode == ALIGN_CORNER ? most : sum;
}

static double
aligned(const array *x, const align_options *o, const double *roi, int64_t c, int ph, int pw,
        int64_t h, int64_t w)
{
    float y = (float)roi[2] * 0.5f, z = (float)roi[1] * 0.5f;
    float height = (float)roi[4] * 0.5f - y, width = (float)roi[3] * 0.5f - z;
    if (!o->aligned) {
        height = fmaxf(height, 1);
        width = fmaxf(width, 1);
    }
    height /= POOLED_H;
    width /= POOLED_W;
    int64_t ny = o->samples ? o->samples : height > 0 ? (int64_t)ceilf(height) : 0;
    int64_t nz = o->samples ? o->samples : width > 0 ? (int64_t)ceilf(width) : 0;
    double sum = 0, most = -INFINITY;
    if (ny * nz == 0)
        return 0;
    for (int64_t i = 0; i < ny; i++)
        for (int64_t j = 0; j < nz; j++) {
            double v = sample(x, o, (int64_t)roi[0], c,
                              y + (float)ph * height + ((float)i + 0.5f) * height / (float)ny,
                              z + (float)pw * width + ((float)j + 0.5f) * width / (float)nz, h, w);
            sum += v / (double)(ny * nz);
            most = fmax(most, v);
        }
    return o->mode == ALIGN_MEAN ? sum : most;
}

static int64_t
clamped(double v, int64_t most)
{
    return v < 0 ? 0 : v > (double)most ? most : (int64_t)v;
}

static double
pooled(const array *x, const double *roi, int64_t c, int ph, int pw, int64_t h, int64_t w)
{
    double y = floor(roi[2] * 0.5 + 0.5), z = floor(roi[1] * 0.5 + 0.5), most = -INFINITY;
    double height = fmax(floor(roi[4] * 0.5 + 0.5) - y + 1, 1) / POOLED_H,
           width = fmax(floor(roi[3] * 0.5 + 0.5) - z + 1, 1) / POOLED_W;
    int64_t y0 = clamped(floor(ph * height) + y, h), y1 = clamped(ceil((ph + 1) * height) + y, h);
    int64_t z0 = clamped(floor(pw * width) + z, w), z1 = clamped(ceil((pw + 1) * width) + z, w);
    for (int64_t i = y0; i < y1; i++)
        for (int64_t j = z0; j < z1; j++)
            most = fmax(most, pixel(x, false, (int64_t)roi[0], c, i, j));
    return y0 < y1 && z0 < z1 ? most : 0;
}

static int
draw_roi(const selection *s, uint64_t seed, array *in, array *out)
{
    dice d = {seed};
    const align_options *o = &align_variants[s->variant];
    int64_t b = 1 + roll(&d, 2), c = extent(&d, 3), h = extent(&d, 6), w = extent(&d, 6);
    int64_t r = extent(&d, 4);
    in[0] = array_new(TNB_F32, 4,
                      o->nhwc ? (const int64_t[]){b, h, w, c} : (const int64_t[]){b, c, h, w});
    in[1] = array_new(TNB_F32, 2, (const int64_t[]){r, 5});
    out[0] = array_new(TNB_F32, 4,
                       o->nhwc ? (const int64_t[]){r, POOLED_H, POOLED_W, c}
                               : (const int64_t[]){r, c, POOLED_H, POOLED_W});
    for (int64_t i = 0; i < size_of(&in[0]); i++)
        in[0].v[i] = roll(&d, 65) / 16.0 - 2;
    for (int64_t i = 0; i < r; i++) {
        double *roi = in[1].v + 5 * i;
        roi[0] = roll(&d, (uint32_t)b);
        for (int k = 1; k < 5; k++)
            roi[k] = (double)roll(&d, 80) / 4 - 3 + (k > 2 ? 2 : 0) + 1.0 / 64;
        bool nowhere = roll(&d, 8) == 0;
        if (nowhere)
            roi[0] = roll(&d, 2) ? (double)NAN : (double)b;
        for (int64_t j = 0; j < c; j++)
            for (int ph = 0; ph < POOLED_H; ph++)
                for (int pw = 0; pw < POOLED_W; pw++) {
                    double v = nowhere           ? 0
                               : o->mode == POOL ? pooled(&in[0], roi, j, ph, pw, h, w)
                                                 : aligned(&in[0], o, roi, j, ph, pw, h, w);
                    out[0].v[o->nhwc ? ((i * POOLED_H + ph) * POOLED_W + pw) * c + j
                                     : ((i * c + j) * POOLED_H + ph) * POOLED_W + pw] = v;
                }
    }
    return 1;
}

static const tn_node *
roi_attrs(tn_ctx *ctx, int variant)
{
    static const char *const modes[] = {"avg", "max", "max_corner"};
    const align_options *o = &align_variants[variant];
    const tn_node *size = tn_int_array(ctx, (const int64_t[]){POOLED_H, POOLED_W}, 2),
                  *scale = tn_float_imm_of(ctx, TNB_F64, 0.5);
    if (o->mode == POOL)
        return tn_dictv(ctx, "pooled_size", size, "spatial_scale", scale, NULL);
    return tn_dictv(ctx, "pooled_size", size, "spatial_scale", scale, "sample_ratio",
                    tn_i64(ctx, o->samples), "aligned", tn_bool(ctx, o->aligned), "mode",
                    tn_string(ctx, modes[o->mode]), "layout",
                    tn_string(ctx, o->nhwc ? "NHWC" : "NCHW"), NULL);
}

static const tn_node *
roi_0(tn_ctx *ctx)
{
    return roi_attrs(ctx, 0);
}

static const tn_node *
roi_1(tn_ctx *ctx)
{
    return roi_attrs(ctx, 1);
}

static const tn_node *
roi_2(tn_ctx *ctx)
{
    return roi_attrs(ctx, 2);
}

static const tn_node *
roi_3(tn_ctx *ctx)
{
    return roi_attrs(ctx, 3);
}

static const tn_node *
roi_4(tn_ctx *ctx)
{
    return roi_attrs(ctx, 4);
}

/* ---- drawing ---- */

static int
draw_multinomial(const selection *s, uint64_t seed, array *in, array *out)
{
    dice d = {seed};
    (void)s;
    int64_t r = 1 + roll(&d, 3), n = 1 + roll(&d, 6), m = extent(&d, 8);
    in[0] = array_new(TNB_F32, 2, (const int64_t[]){r, n});
    in[1] = array_new(TNB_F32, 2, (const int64_t[]){m, 1});
    in[2] = array_new(TNB_I64, 2, (const int64_t[]){m, 1});
    out[0] = array_new(TNB_I64, 2, (const int64_t[]){m, 1});
    for (int64_t i = 0; i < r * n; i++)
        in[0].v[i] = roll(&d, 9) / 16.0;
    for (int64_t i = 0; i < m; i++) {
        in[1].v[i] = roll(&d, 7) == 0 ? (double)NAN : roll(&d, 17) / 16.0;
        in[2].v[i] = roll(&d, (uint32_t)r);
        const double *p = in[0].v + (int64_t)in[2].v[i] * n;
        double sum = p[0];
        int64_t k = 0;
        while (k + 1 < n && !(in[1].v[i] < sum))
            sum += p[++k];
        out[0].v[i] = (double)k;
    }
    return 1;
}

/* ---- attention ---- */

enum { HEADS = 2, HEAD_DIM = 4 };

/* Lengths of sequences and what is behind the last one. */
static array
draw_starts(dice *d, int64_t sequences, int64_t *all)
{
    array starts = array_new(TNB_I32, 1, (const int64_t[]){sequences + 1});
    for (int64_t i = 0; i < sequences; i++)
        starts.v[i + 1] = starts.v[i] + roll(d, 4);
    *all = (int64_t)starts.v[sequences] + roll(d, 3) / 2;
    return starts;
}

/* One query, of `length` keys with the same head for all. */
static void
attend(const double *q, const array *key, const array *value, int64_t first, int64_t length,
       int64_t last, double *out)
{
    double sum = 0, weight[16] = {0};
    for (int64_t j = 0; j < length && j <= last; j++) {
        double s = 0;
        for (int k = 0; k < HEAD_DIM; k++)
            s += q[k] * key->v[(first + j) * HEAD_DIM + k];
        sum += weight[j] = exp(s / sqrt(HEAD_DIM));
    }
    for (int64_t j = 0; j < length && j <= last; j++)
        for (int k = 0; k < HEAD_DIM; k++)
            out[k] += weight[j] / sum * value->v[(first + j) * HEAD_DIM + k];
}

static int
draw_attention(const selection *s, uint64_t seed, array *in, array *out)
{
    dice d = {seed};
    int64_t sequences = 1 + roll(&d, 3), nq, nk;
    in[3] = draw_starts(&d, sequences, &nq);
    in[4] = draw_starts(&d, sequences, &nk);
    in[0] = array_new(TNB_F32, 4, (const int64_t[]){1, nq, HEADS, HEAD_DIM});
    in[1] = array_new(TNB_F32, 4, (const int64_t[]){1, nk, 1, HEAD_DIM});
    in[2] = array_new(TNB_F32, 4, (const int64_t[]){1, nk, 1, HEAD_DIM});
    in[5] = scalar(TNB_I32, 3);
    in[6] = scalar(TNB_I32, 3);
    for (int k = 0; k < 3; k++)
        for (int64_t i = 0; i < size_of(&in[k]); i++)
            in[k].v[i] = roll(&d, 33) / 16.0 - 1;
    out[0] = array_new(TNB_F32, 4, in[0].dim);
    for (int64_t b = 0; b < sequences; b++) {
        int64_t q0 = (int64_t)in[3].v[b], q1 = (int64_t)in[3].v[b + 1];
        int64_t k0 = (int64_t)in[4].v[b], k1 = (int64_t)in[4].v[b + 1];
        for (int64_t i = q0; i < q1; i++)
            for (int h = 0; h < HEADS; h++) {
                int64_t at = (i * HEADS + h) * HEAD_DIM, place = i - q0;
                int64_t last = s->variant == 0   ? INT64_MAX
                               : s->variant == 1 ? place
                                                 : place + (k1 - k0) - (q1 - q0);
                attend(in[0].v + at, &in[1], &in[2], k0, k1 - k0, last, out[0].v + at);
            }
    }
    return 1;
}

static const tn_node *
mask_top_left(tn_ctx *ctx)
{
    return tn_dictv(ctx, "causal_mask", tn_string(ctx, "TopLeft"), NULL);
}

static const tn_node *
mask_bottom_right(tn_ctx *ctx)
{
    return tn_dictv(ctx, "causal_mask", tn_string(ctx, "BottomRight"), NULL);
}

#define SEQUENCES                                       \
    .args = {"1q24", "1k14", "1k14", "s", "s", "", ""}, \
    .dtypes = {TNB_F32, TNB_F32, TNB_F32, TNB_I32, TNB_I32, TNB_I32, TNB_I32}
#define NMS_ARGS \
    .args = {"bn4", "bcn", "", "", ""}, .dtypes = {TNB_F32, TNB_F32, TNB_I64, TNB_F32, TNB_F32}
#define ROWS .args = {"bn6"}, .dtypes = {TNB_F32}
#define ROWS_VALID .args = {"bn6", "b", "bn"}, .dtypes = {TNB_F32, TNB_I32, TNB_I32}
#define ANCHORS .args = {"bcn", "bm", "1n4"}, .dtypes = {TNB_F32, TNB_F32, TNB_F32}
#define REGIONS .args = {"bchw", "r5"}, .dtypes = {TNB_F32, TNB_F32}

const selection selections[] = {
    {"nonzero", "nonzero", {"nm"}, {TNB_F32}, .draw = draw_nonzero},
    {"nonzero_bool", "nonzero", {"nmk"}, {TNB_DTYPE(TNB_BOOL, 8)}, .draw = draw_nonzero},
    {"unique_sorted", "unique", {"nm"}, {TNB_F32}, "1111", -1, .draw = draw_unique},
    {"unique_found", "unique", {"nm"}, {TNB_I32}, "0111", -1, .draw = draw_unique},
    {"unique_rows", "unique", {"nm"}, {TNB_F16}, "1101", 0, .draw = draw_unique},
    {"unique_columns", "unique", {"nmk"}, {TNB_F32}, "0011", 1, .draw = draw_unique},
    {"unique_alone", "unique", {"n"}, {TNB_I64}, "1000", -1, .draw = draw_unique},
    {"nms_selected", "vision.all_class_non_max_suppression", NMS_ARGS, .attrs = format_selected,
     .variant = 0, .draw = draw_all_class_nms},
    {"nms_onnx", "vision.all_class_non_max_suppression", NMS_ARGS, .variant = 1,
     .draw = draw_all_class_nms},
    {"nms_tensorflow", "vision.all_class_non_max_suppression", NMS_ARGS, .attrs = format_tensorflow,
     .variant = 2, .draw = draw_all_class_nms},
    {"valid_any", "vision.get_valid_counts", ROWS, .attrs = valid_any, .variant = 0,
     .draw = draw_valid_counts},
    {"valid_class", "vision.get_valid_counts", ROWS, .attrs = valid_class, .variant = 1,
     .draw = draw_valid_counts},
    {"nms_indices", "vision.non_max_suppression", ROWS_VALID, .attrs = nms_0, .variant = 0,
     .draw = draw_nms},
    {"nms_to_bottom", "vision.non_max_suppression", ROWS_VALID, .attrs = nms_1, .variant = 1,
     .draw = draw_nms},
    {"nms_forced", "vision.non_max_suppression", ROWS_VALID, .attrs = nms_2, .variant = 2,
     .draw = draw_nms},
    {"nms_soft", "vision.non_max_suppression", ROWS_VALID, .attrs = nms_3, .variant = 3,
     .draw = draw_nms},
    {"multibox", "vision.multibox_transform_loc", ANCHORS, .attrs = multibox_plain, .variant = 0,
     .draw = draw_multibox},
    {"multibox_clipped", "vision.multibox_transform_loc", ANCHORS, .attrs = multibox_clipped,
     .variant = 1, .draw = draw_multibox},
    {"align_mean", "vision.roi_align", REGIONS, .attrs = roi_0, .variant = 0, .draw = draw_roi},
    {"align_by_size", "vision.roi_align", REGIONS, .attrs = roi_1, .variant = 1, .draw = draw_roi},
    {"align_max", "vision.roi_align", REGIONS, .attrs = roi_2, .variant = 2, .draw = draw_roi},
    {"align_corner", "vision.roi_align", REGIONS, .attrs = roi_3, .variant = 3, .draw = draw_roi},
    {"roi_pool", "vision.roi_pool", REGIONS, .attrs = roi_4, .variant = 4, .draw = draw_roi},
    {"multinomial",
     "multinomial_from_uniform",
     {"rn", "m1", "m1"},
     {TNB_F32, TNB_F32, TNB_I64},
     .draw = draw_multinomial},
    {"attention", "nn.attention_var_len", SEQUENCES, .variant = 0, .draw = draw_attention},
    {"attention_top", "nn.attention_var_len", SEQUENCES, .attrs = mask_top_left, .variant = 1,
     .draw = draw_attention},
    {"attention_bottom", "nn.attention_var_len", SEQUENCES, .attrs = mask_bottom_right,
     .variant = 2, .draw = draw_attention},
};
const int n_selections = sizeof selections / sizeof *selections;
