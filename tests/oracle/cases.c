/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the oracle's cases, and comparing results with them. */
#include "cases.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/base/file.h"
#include "tenon/base/num.h"

static bool
read_tensor(FILE *in, const oracle_file *f, oracle_tensor *t)
{
    char dtype[32];
    uint64_t offset;
    if (fscanf(in, "%31s %" SCNd32, dtype, &t->ndim) != 2 || t->ndim < 0 ||
        t->ndim > CASES_MAX_DIMS || !tnb_dtype_parse(dtype, strlen(dtype), &t->dtype))
        return false;
    t->n_elems = 1;
    for (int32_t i = 0; i < t->ndim; i++) {
        if (fscanf(in, "%" SCNd64, &t->shape[i]) != 1 || t->shape[i] < 0)
            return false;
        t->n_elems *= (uint64_t)t->shape[i];
    }
    tnb_err err;
    if (tnb_dtype_storage(t->dtype, t->n_elems, &t->n_bytes, &err) != TNB_OK ||
        fscanf(in, "%" SCNu64, &offset) != 1 || offset + t->n_bytes > f->n_data)
        return false;
    t->bytes = f->data + offset;
    return true;
}

bool
cases_read(const char *stem, oracle_file *out)
{
    char path[4096], word[8];
    tnb_err err = {0};
    memset(out, 0, sizeof *out);
    snprintf(path, sizeof path, "%s.bin", stem);
    if (tnb_read_file(path, 0, &out->data, &out->n_data, &err) != TNB_OK) {
        printf("FAIL %s\n", err.message);
        return false;
    }
    snprintf(path, sizeof path, "%s.cases", stem);
    FILE *in = fopen(path, "r");
    bool ok = in != NULL;
    uint32_t room = 0;
    while (ok && fscanf(in, "%7s", word) == 1) {
        if (strcmp(word, "case") == 0) {
            if (out->n == room) {
                room = room ? 2 * room : 64;
                out->cases = realloc(out->cases, room * sizeof *out->cases);
            }
            oracle_case *c = &out->cases[out->n++];
            memset(c, 0, sizeof *c);
            char rtol[32], atol[32];
            ok = fscanf(in, "%95s %63s %d %31s %31s", c->function, c->op, &c->draw, rtol, atol) ==
                     5 &&
                 tnb_read_f64(rtol, strlen(rtol), &c->rtol) &&
                 tnb_read_f64(atol, strlen(atol), &c->atol);
            continue;
        }
        oracle_case *c = out->n ? &out->cases[out->n - 1] : NULL;
        bool input = strcmp(word, "in") == 0;
        uint32_t *n = !c ? NULL : input ? &c->n_in : &c->n_out;
        ok = n && *n < CASES_MAX_TENSORS && read_tensor(in, out, &(input ? c->in : c->out)[(*n)++]);
    }
    if (in)
        fclose(in);
    if (!ok)
        printf("FAIL %s: record %u cannot be read\n", path, out->n);
    return ok;
}

void
cases_free(oracle_file *f)
{
    free(f->data);
    free(f->cases);
    memset(f, 0, sizeof *f);
}

static void
put_shape(tnb_buf *b, int32_t ndim, const int64_t *shape)
{
    tnb_buf_puts(b, "(");
    for (int32_t i = 0; i < ndim; i++)
        tnb_buf_printf(b, "%s%" PRId64, i ? ", " : "", shape[i]);
    tnb_buf_puts(b, ")");
}

/* The place of element k in row-major order. */
static void
put_place(tnb_buf *b, const oracle_tensor *t, uint64_t k)
{
    int64_t at[CASES_MAX_DIMS];
    for (int32_t i = t->ndim; i-- > 0;) {
        at[i] = (int64_t)(k % (uint64_t)t->shape[i]);
        k /= (uint64_t)t->shape[i];
    }
    put_shape(b, t->ndim, at);
}

static bool
close_floats(double got, double wanted, double rtol, double atol)
{
    if (isnan(wanted) || isnan(got))
        return isnan(wanted) && isnan(got);
    if (isinf(wanted) || isinf(got))
        return wanted == got;
    return fabs(got - wanted) <= atol + rtol * fabs(wanted);
}

static bool
compare_elements(const oracle_case *c, const oracle_tensor *want, const void *bytes, tnb_buf *why)
{
    uint64_t differ = 0;
    for (uint64_t k = 0; k < want->n_elems; k++) {
        double x = 0, y = 0;
        int64_t i = 0, j = 0;
        bool equal, is_float = tnb_dtype_is_float(want->dtype);
        if (is_float) {
            equal = tnb_load_f64(bytes, want->dtype, k, &x) &&
                    tnb_load_f64(want->bytes, want->dtype, k, &y) &&
                    close_floats(x, y, c->rtol, c->atol);
        } else {
            equal = tnb_load_i64(bytes, want->dtype, k, &i) &&
                    tnb_load_i64(want->bytes, want->dtype, k, &j) &&
                    (i == j || fabs((double)i - (double)j) <= c->atol);
        }
        if (equal || differ++)
            continue;
        tnb_buf_puts(why, "element ");
        put_place(why, want, k);
        if (is_float)
            tnb_buf_printf(why, " is %.17g, expected %.17g", x, y);
        else
            tnb_buf_printf(why, " is %" PRId64 ", expected %" PRId64, i, j);
    }
    if (differ)
        tnb_buf_printf(why, "; %" PRIu64 " of %" PRIu64 " elements differ (rtol %g, atol %g)",
                       differ, want->n_elems, c->rtol, c->atol);
    return differ == 0;
}

bool
cases_compare(const oracle_case *c, uint32_t i, const oracle_value *got, tnb_buf *why)
{
    const oracle_tensor *want = &c->out[i];
    bool same = got->ndim == want->ndim;
    for (int32_t k = 0; same && k < want->ndim; k++)
        same = got->shape[k] == want->shape[k];
    if (c->n_out > 1)
        tnb_buf_printf(why, "result %u: ", i);
    if (!same) {
        tnb_buf_puts(why, "shape ");
        put_shape(why, got->ndim, got->shape);
        tnb_buf_puts(why, ", expected ");
        put_shape(why, want->ndim, want->shape);
        return false;
    }
    if (!tnb_dtype_eq(got->dtype, want->dtype)) {
        tnb_buf_printf(why, "dtype %s, expected %s", tnb_dtype_print(got->dtype).s,
                       tnb_dtype_print(want->dtype).s);
        return false;
    }
    return !got->bytes || compare_elements(c, want, got->bytes, why);
}
