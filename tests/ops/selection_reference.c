/* SPDX-License-Identifier: Apache-2.0 */
/* What the operators that select have to give, by the plainest means. */
#include "selection.h"

#include <math.h>
#include <stdlib.h>

array
array_new(tnb_dtype d, int ndim, const int64_t *dim)
{
    array a = {.dtype = d, .ndim = ndim};
    int64_t n = 1;
    for (int i = 0; i < ndim; i++)
        n *= a.dim[i] = dim[i];
    a.dim[ndim] = -1;
    a.v = calloc((size_t)n + 1, sizeof *a.v);
    return a;
}

double
array_at3(const array *a, int64_t i, int64_t j, int64_t k)
{
    return a->v[(i * a->dim[1] + j) * a->dim[2] + k];
}

static int64_t
count_of(const array *a)
{
    int64_t n = 1;
    for (int i = 0; i < a->ndim; i++)
        n *= a->dim[i];
    return n;
}

void
want_nonzero(const array *x, array *out)
{
    int64_t n = count_of(x), found = 0, at = 0;
    for (int64_t i = 0; i < n; i++)
        found += x->v[i] != 0;
    *out = array_new(TNB_I64, 2, (const int64_t[]){x->ndim ? x->ndim : 1, found});
    for (int64_t i = 0; i < n; i++) {
        if (x->v[i] == 0)
            continue;
        int64_t rest = i;
        for (int k = x->ndim - 1; k >= 0; k--) {
            out->v[k * found + at] = (double)(rest % x->dim[k]);
            rest /= x->dim[k];
        }
        at++;
    }
}

/* ---- unique ---- */

/* Slice i along an axis: `inner` elements at steps. */
typedef struct slices {
    const array *x;
    int64_t n, outer, inner; /* before and behind the axis */
} slices;

static double
element(const slices *s, int64_t i, int64_t k)
{
    return s->x->v[(k / s->inner * s->n + i) * s->inner + k % s->inner];
}

/* Below 0, 0, above 0; NaN last. */
static int
compare(const slices *s, int64_t i, int64_t j)
{
    for (int64_t k = 0; k < s->outer * s->inner; k++) {
        double a = element(s, i, k), b = element(s, j, k);
        if (isnan(a) || isnan(b)) {
            if (isnan(a) != isnan(b))
                return isnan(a) ? 1 : -1;
        } else if (a != b) {
            return a < b ? -1 : 1;
        }
    }
    return 0;
}

void
want_unique(const array *x, bool sorted, int axis, array *out)
{
    slices s = {x, count_of(x), 1, 1};
    int64_t u = 0, *first = calloc((size_t)s.n + 1, sizeof *first);
    if (axis >= 0) {
        s.n = x->dim[axis];
        for (int i = 0; i < x->ndim; i++)
            *(i < axis ? &s.outer : &s.inner) *= i == axis ? 1 : x->dim[i];
    }
    first = realloc(first, (size_t)(s.n + 1) * sizeof *first);
    for (int64_t i = 0; i < s.n; i++) { /* those that no earlier one equals, in order */
        int64_t j = 0;
        while (j < u && compare(&s, first[j], i) != 0)
            j++;
        if (j < u)
            continue;
        for (j = u++; sorted && j > 0 && compare(&s, first[j - 1], i) > 0; j--)
            first[j] = first[j - 1];
        first[j] = i;
    }
    int64_t shape[5] = {u};
    for (int i = 0; axis >= 0 && i < x->ndim; i++)
        shape[i] = i == axis ? u : x->dim[i];
    out[0] = array_new(x->dtype, axis >= 0 ? x->ndim : 1, shape);
    out[1] = array_new(TNB_I64, 1, &u);
    out[2] = array_new(TNB_I64, 1, &s.n);
    out[3] = array_new(TNB_I64, 1, &u);
    for (int64_t j = 0; j < u; j++) {
        for (int64_t k = 0; k < s.outer * s.inner; k++)
            out[0].v[(k / s.inner * u + j) * s.inner + k % s.inner] = element(&s, first[j], k);
        out[1].v[j] = (double)first[j];
        for (int64_t i = 0; i < s.n; i++)
            if (compare(&s, first[j], i) == 0) {
                out[2].v[i] = (double)j;
                out[3].v[j] += 1;
            }
    }
    free(first);
}

/* ---- suppression ---- */

static double
overlap_of(const double *a, const double *b)
{
    double common = 1, area[2] = {1, 1};
    for (int i = 0; i < 2; i++) {
        double low = fmax(fmin(a[i], a[i + 2]), fmin(b[i], b[i + 2]));
        double high = fmin(fmax(a[i], a[i + 2]), fmax(b[i], b[i + 2]));
        common *= fmax(high - low, 0);
        area[0] *= fabs(a[i] - a[i + 2]);
        area[1] *= fabs(b[i] - b[i + 2]);
    }
    double both = area[0] + area[1] - common;
    return both > 0 ? common / both : 0;
}

void
want_all_class_nms(const array *boxes, const array *scores, int64_t most, double overlap,
                   double least, array *rows)
{
    int64_t n = boxes->dim[1], classes = scores->dim[1], total = 0;
    *rows = array_new(TNB_I64, 2, (const int64_t[]){count_of(scores), 3});
    for (int64_t b = 0; b < boxes->dim[0]; b++)
        for (int64_t c = 0; c < classes; c++) {
            const double *box = boxes->v + b * n * 4, *score = scores->v + (b * classes + c) * n;
            bool *gone = calloc((size_t)n + 1, sizeof *gone);
            for (int64_t taken = 0; taken < most; taken++) {
                int64_t best = -1;
                for (int64_t i = 0; i < n; i++)
                    if (!gone[i] && score[i] > least && (best < 0 || score[i] > score[best]))
                        best = i;
                if (best < 0)
                    break;
                double *row = rows->v + 3 * total++;
                row[0] = (double)b;
                row[1] = (double)c;
                row[2] = (double)best;
                gone[best] = true;
                for (int64_t i = 0; i < n; i++)
                    gone[i] |= overlap_of(box + 4 * i, box + 4 * best) > overlap;
            }
            free(gone);
        }
    rows->dim[0] = total;
}

static void
fill_row(array *a, int64_t b, int64_t i, double v)
{
    for (int64_t k = 0; k < a->dim[2]; k++)
        a->v[(b * a->dim[1] + i) * a->dim[2] + k] = v;
}

static void
copy_row(const array *from, int64_t i, array *to, int64_t j, int64_t b)
{
    for (int64_t k = 0; k < to->dim[2]; k++)
        to->v[(b * to->dim[1] + j) * to->dim[2] + k] = array_at3(from, b, i, k);
}

static bool
same_class(const nms_options *o, const double *a, const double *b)
{
    return o->force || o->id < 0 || a[o->id] == b[o->id];
}

/* Places in the order of scores, NaN last, equal ones as they stand. */
static int64_t
by_score(const array *data, int64_t b, int64_t valid, const nms_options *o, int64_t *order)
{
    for (int64_t i = 0; i < valid; i++) {
        double s = array_at3(data, b, i, o->score);
        int64_t j = i;
        for (; j > 0; j--) {
            double t = array_at3(data, b, order[j - 1], o->score);
            if (isnan(s) || !(isnan(t) || s > t))
                break;
            order[j] = order[j - 1];
        }
        order[j] = i;
    }
    return o->top > 0 && o->top < valid ? o->top : valid;
}

/* One batch entry: the chosen places in order, and their scores. */
static int64_t
choose(const array *data, int64_t b, const int64_t *order, int64_t kept, const nms_options *o,
       int64_t *chosen, double *score)
{
    int64_t n = 0, width = data->dim[2];
    const double *row = data->v + b * data->dim[1] * width;
    bool *gone = calloc((size_t)kept + 1, sizeof *gone);
    double least = o->sigma > 0 ? o->least : 0;
    for (int64_t i = 0; i < kept; i++)
        score[order[i]] = row[order[i] * width + o->score];
    while (o->most <= 0 || n < o->most) {
        int64_t best = -1;
        for (int64_t i = 0; i < kept; i++)
            if (!gone[i] && score[order[i]] > least &&
                (best < 0 || score[order[i]] > score[order[best]]))
                best = i;
        if (best < 0)
            break;
        gone[best] = true;
        const double *a = row + order[best] * width;
        chosen[n++] = order[best];
        for (int64_t i = 0; i < kept; i++) {
            const double *c = row + order[i] * width;
            if (gone[i] || !(score[order[i]] > least) || !same_class(o, a, c))
                continue;
            double v = overlap_of(a + o->coord, c + o->coord);
            if (v >= o->overlap)
                gone[i] = true;
            else if (o->sigma > 0)
                score[order[i]] *= exp(-0.5 / o->sigma * v * v);
        }
    }
    free(gone);
    return n;
}

void
want_nms(const array *data, const array *valid, const array *index, const nms_options *o,
         array *out)
{
    int64_t batch = data->dim[0], n = data->dim[1], one[2] = {batch, 1};
    out[0] = array_new(data->dtype, 3, data->dim);
    out[1] = array_new(TNB_I32, 2, data->dim);
    out[2] = array_new(TNB_I32, 2, one);
    int64_t *order = calloc((size_t)n + 1, sizeof *order),
            *chosen = calloc((size_t)n + 1, sizeof *chosen);
    double *score = calloc((size_t)n + 1, sizeof *score);
    for (int64_t b = 0; b < batch; b++) {
        int64_t kept = by_score(data, b, (int64_t)valid->v[b], o, order);
        int64_t found = choose(data, b, order, kept, o, chosen, score);
        for (int64_t i = 0; i < n; i++) {
            fill_row(&out[0], b, i, -1);
            out[1].v[b * n + i] = i < found ? index->v[b * n + chosen[i]] : -1;
        }
        for (int64_t i = 0; i < found; i++) {
            int64_t to = i; /* hard suppression leaves boxes where the order put them */
            if (o->sigma <= 0 && !o->to_bottom)
                for (to = 0; order[to] != chosen[i]; to++)
                    ;
            copy_row(data, chosen[i], &out[0], to, b);
            out[0].v[(b * n + to) * data->dim[2] + o->score] = score[chosen[i]];
        }
        out[2].v[b] = (double)found;
    }
    free(order);
    free(chosen);
    free(score);
}
