/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The onelib plugin, device half: the loader of what compile.c wrote.
 *
 * A module is made for each function when a virtual machine is made, and called with the inputs, then with the tensors that receive the
 * results. Arguments that are the same constant in every call are named beforehand (tnr_external.constants): their weights are laid
 * out by the first call, and kept.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"
#include "tenon/base/json.h"
#include "tenon/rt/plugin.h"
#include "tenon/rt/tensor.h"

enum { MOST = 4096 };

struct job {
    int64_t x, w, b;
    bool relu, fixed; /* w is a constant */
    float *packed;    /* then: laid out, once it was seen */
};

struct module {
    const tnr_external *desc;
    int64_t n_inputs, n_jobs, n_out;
    struct job *jobs;
    int64_t *out;
};

/* A matrix in the host's memory: of an argument on another device, a copy. */
struct matrix {
    float *at, *own;
    int64_t rows, columns;
};

/* ---- opening: nothing in the artifact is believed unchecked ---- */

static int64_t
integer(const json_t *o, const char *key, int64_t least, int64_t most)
{
    const json_t *v = key ? json_object_get(o, key) : o;
    int64_t i = json_is_integer(v) ? json_integer_value(v) : INT64_MIN;
    return i >= least && i <= most ? i : INT64_MIN;
}

static bool
read_payload(struct module *m, const json_t *root)
{
    const json_t *jobs = json_object_get(root, "jobs"), *out = json_object_get(root, "out");
    m->n_inputs = integer(root, "inputs", 1, MOST);
    m->n_jobs = (int64_t)json_array_size(jobs);
    m->n_out = (int64_t)json_array_size(out);
    if (m->n_inputs < 1 || m->n_jobs < 1 || m->n_jobs > MOST || m->n_out < 1 || m->n_out > MOST)
        return false;
    m->jobs = calloc((size_t)m->n_jobs, sizeof *m->jobs);
    m->out = calloc((size_t)m->n_out, sizeof *m->out);
    bool ok = m->jobs && m->out;
    for (int64_t i = 0; ok && i < m->n_jobs; i++) {
        const json_t *o = json_array_get(jobs, (size_t)i);
        int64_t last = m->n_inputs + i - 1; /* what is there by then */
        struct job *j = &m->jobs[i];
        j->x = integer(o, "x", 0, last);
        j->w = integer(o, "w", 0, last);
        j->b = integer(o, "b", -1, last);
        j->relu = json_is_true(json_object_get(o, "relu"));
        ok = j->x >= 0 && j->w >= 0 && j->b >= -1;
        for (uint32_t c = 0; c < m->desc->n_constants; c++)
            j->fixed |= m->desc->constants[c] == (uint64_t)j->w;
    }
    for (int64_t i = 0; ok && i < m->n_out; i++) {
        m->out[i] = integer(json_array_get(out, (size_t)i), NULL, 0, m->n_inputs + m->n_jobs - 1);
        ok = m->out[i] >= 0;
    }
    return ok;
}

static void
close_module(void *module)
{
    struct module *m = module;
    for (int64_t i = 0; m->jobs && i < m->n_jobs; i++)
        free(m->jobs[i].packed);
    free(m->jobs);
    free(m->out);
    free(m);
}

static tnb_status
open_module(void *self, const tnr_external *desc, tnr_device *dev, void **module, tnb_err *err)
{
    struct module *m = calloc(1, sizeof *m);
    json_t *root = NULL;
    (void)self, (void)dev;
    if (!m)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for '%s'", desc->symbol);
    m->desc = desc;
    tnb_status st = tnb_json_parse(desc->payload, strlen(desc->payload), 0, &root, err);
    if (st == TNB_OK && !read_payload(m, root))
        st = tnb_fail(err, TNB_FORMAT, "onelib: '%s' is described by what is no list of jobs",
                      desc->symbol);
    json_decref(root);
    if (st != TNB_OK)
        close_module(m);
    else
        *module = m;
    return st;
}

/* ---- calls ---- */

static tnb_status
take(const tnr_value *arg, struct matrix *v, tnb_err *err)
{
    const tnr_tensor *t = arg->tag == TNR_TENSOR ? arg->u.tensor : NULL;
    if (!t || !tnr_tensor_is_compact(t) || !tnb_dtype_eq(t->dl.dtype, TNB_F32) || t->dl.ndim < 1)
        return tnb_fail(err, TNB_TYPE, "onelib: an argument is no compact tensor of float32");
    v->columns = t->dl.shape[t->dl.ndim - 1];
    v->rows = 1; /* which a tensor without columns has too */
    for (int i = 0; i + 1 < t->dl.ndim; i++)
        if (__builtin_mul_overflow(v->rows, t->dl.shape[i], &v->rows))
            return tnb_fail(err, TNB_SHAPE, "onelib: an argument has too many rows");
    v->at = tnr_tensor_data(t);
    if (v->at || t->n_bytes == 0)
        return TNB_OK;
    v->at = v->own = malloc(t->n_bytes);
    return v->own ? tnr_tensor_read(t, v->own, t->n_bytes, err)
                  : tnb_fail(err, TNB_NO_MEMORY, "onelib: no memory for a copy");
}

static tnb_status
run(struct module *m, struct job *j, struct matrix *values, struct matrix *out, tnb_err *err)
{
    const struct matrix *x = &values[j->x], *w = &values[j->w],
                        *b = j->b < 0 ? NULL : &values[j->b];
    if (x->columns != w->rows || (b && b->rows * b->columns != w->columns))
        return tnb_fail(err, TNB_SHAPE, "onelib: '%s': the extents of a product do not fit",
                        m->desc->symbol);
    float *packed = j->packed ? j->packed : onelib_pack(w->at, w->rows, w->columns);
    int64_t n;
    out->rows = x->rows;
    out->columns = w->columns;
    if (!__builtin_mul_overflow(x->rows, w->columns, &n))
        out->at = out->own = calloc((size_t)n + 1, sizeof(float));
    if (packed && out->at)
        onelib_dense(x->at, packed, b ? b->at : NULL, out->at, out->rows, w->rows, w->columns,
                     j->relu);
    if (j->fixed)
        j->packed = packed;
    else
        free(packed);
    return packed && out->at ? TNB_OK : tnb_fail(err, TNB_NO_MEMORY, "onelib: no memory");
}

static tnb_status
call(void *module, const tnr_value *args, int n, tnb_err *err)
{
    struct module *m = module;
    if (n != m->n_inputs + m->n_out)
        return tnb_fail(err, TNB_INVALID, "onelib: '%s' is called with %d arguments",
                        m->desc->symbol, n);
    struct matrix *values = calloc((size_t)(m->n_inputs + m->n_jobs), sizeof *values);
    tnb_status st = values ? TNB_OK : tnb_fail(err, TNB_NO_MEMORY, "onelib: no memory");
    for (int64_t i = 0; st == TNB_OK && i < m->n_inputs; i++)
        st = take(&args[i], &values[i], err);
    for (int64_t i = 0; st == TNB_OK && i < m->n_jobs; i++)
        st = run(m, &m->jobs[i], values, &values[m->n_inputs + i], err);
    for (int64_t i = 0; st == TNB_OK && i < m->n_out; i++) {
        const tnr_value *to = &args[m->n_inputs + i];
        const struct matrix *v = &values[m->out[i]];
        uint64_t bytes = (uint64_t)(v->rows * v->columns) * sizeof(float);
        st = to->tag == TNR_TENSOR && to->u.tensor->n_bytes == bytes
                 ? tnr_tensor_write(to->u.tensor, v->at, bytes, err)
                 : tnb_fail(err, TNB_SHAPE, "onelib: a result has other extents than its tensor");
    }
    for (int64_t i = 0; values && i < m->n_inputs + m->n_jobs; i++)
        free(values[i].own);
    free(values);
    return st;
}

static const tnr_loader loader = {
    .base = {sizeof(tnr_loader), "onelib", "jobs of the library onelib"},
    .open = open_module,
    .call = call,
    .close = close_module,
};
static const tnr_loader *const loaders[] = {&loader};

TNR_PLUGIN(onelib_rt, "0.1.0", "Apache-2.0 OR MIT-0", "runs jobs of the library onelib",
           .loaders = loaders, .n_loaders = 1);
