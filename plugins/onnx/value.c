/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a graph: tensors, constants from TensorProtos, known elements; inputs and outputs of
 * handlers. */
#include <inttypes.h>
#include "dynamic.h"

enum {
    COPY_BELOW = 4096
}; /* bytes: smaller constants are copied, so that the file's alignment does not matter */

onnx_value *
onnx_value_new(onnx_import *imp, const char *name)
{
    onnx_value *v = TNB_NEW(imp->arena, onnx_value);
    v->name = tn_str(imp->ctx, name);
    return v;
}

bool
onnx_has(const onnx_node *n, uint32_t i)
{
    return i < n->n_in && n->in[i];
}

/* ---- constants ---- */

static const tn_expr *
tensor_of(onnx_node *n, const tnb_tensor_pb *t, const void *bytes, const char *file,
          uint64_t offset)
{
    tn_ctx *ctx = n->ctx;
    bool in_file = file && t->n_bytes >= COPY_BELOW;
    if (in_file && t->dtype.code != TNB_BOOL)
        return tn_constant_of(ctx,
                              tn_data_file(ctx, t->dtype, t->ndim, t->shape, bytes, file, offset));
    void *mem = NULL;
    const tn_data *d = tn_data_new(ctx, t->dtype, t->ndim, t->shape, &mem);
    if (!d)
        return tn_error_node(ctx);
    memcpy(mem, bytes, t->n_bytes);
    if (t->dtype.code == TNB_BOOL) /* any byte but 0 is true */
        for (uint64_t i = 0; i < t->n_bytes; i++)
            ((uint8_t *)mem)[i] = ((uint8_t *)mem)[i] != 0;
    return tn_constant_of(ctx, d);
}

const tn_expr *
onnx_tensor(onnx_node *n, const Onnx__TensorProto *proto, const char *what)
{
    onnx_model *m = n->imp->model;
    tnb_tensor_pb t;
    tnb_err err = {0};
    size_t len;
    const uint8_t *p = onnx_model_tensor(m, proto, &len);
    const tn_expr *e = NULL;
    if (tnb_tensor_pb_parse(p, len, &t, &err) != TNB_OK) {
        onnx_fail(n, err.status, "%s: %s", what, err.message);
        return tn_error_node(n->ctx);
    }
    if (!t.external) {
        const char *file = t.in_place ? m->path : NULL;
        e = tensor_of(n, &t, t.data, file,
                      file ? (uint64_t)((const uint8_t *)t.data - m->bytes) : 0);
        tnb_tensor_pb_free(&t);
        return e;
    }
    const char *path = NULL;
    const tnb_mapping *map = onnx_model_external(m, t.location, t.location_len, &path, &err);
    if (!map) {
        onnx_fail(n, err.status, "%s: %s", what, err.message);
        if (err.hint[0])
            onnx_hint(n, "%s", err.hint);
        return tn_error_node(n->ctx);
    }
    if (t.offset > map->size || t.n_bytes > map->size - t.offset) {
        onnx_fail(n, TNB_BOUNDS,
                  "%s: external data at offset %" PRIu64 " with %" PRIu64
                  " bytes go past the end of '%s' (%" PRIu64 " bytes)",
                  what, t.offset, t.n_bytes, path, map->size);
        return tn_error_node(n->ctx);
    }
    return tensor_of(n, &t, (const uint8_t *)map->data + t.offset, path, t.offset);
}

/* ---- elements ---- */

/* Tensors that are carried as elements are small also in the extents beside one of 0: there may be
 * loops over these. */
static bool
is_small(int32_t ndim, const int64_t *dims)
{
    uint64_t product = 1;
    if (ndim > ONNX_MAX_RANK)
        return false;
    for (int32_t i = 0; i < ndim; i++) {
        if (dims[i] > ONNX_MAX_ELEMS)
            return false;
        product *= dims[i] ? (uint64_t)dims[i] : 1;
        if (product > ONNX_MAX_ELEMS)
            return false;
    }
    return true;
}

/* The elements of a constant as scalar literals. */
static bool
elems_of_constant(onnx_node *n, onnx_value *v, const tn_data *d)
{
    tn_ctx *ctx = n->ctx;
    if (d->n_elems > ONNX_MAX_LITERALS || !is_small(d->ndim, d->shape) ||
        d->kind == TN_DATA_DEFERRED)
        return false;
    const void *bytes = tn_data_get(ctx, d);
    const tn_expr **e = TNB_NEW_N(n->imp->arena, const tn_expr *, d->n_elems + 1);
    if (!bytes)
        return false;
    for (uint32_t i = 0; i < d->n_elems; i++) {
        double f;
        int64_t k = 0;
        if (tnb_dtype_is_float(d->dtype) ? !tnb_load_f64(bytes, d->dtype, i, &f)
                                         : !tnb_load_i64(bytes, d->dtype, i, &k))
            return false;
        if (k < 0 && d->dtype.code == TNB_UINT) /* no int64, as terms are */
            return false;
        e[i] = tnb_dtype_is_float(d->dtype) ? tn_float_imm_of(ctx, TNB_F64, f) : tn_i64(ctx, k);
    }
    v->elems = e;
    v->n_elems = (uint32_t)d->n_elems;
    v->dtype = d->dtype;
    v->ndim = d->ndim;
    for (int i = 0; i < d->ndim; i++)
        v->dims[i] = d->shape[i];
    v->has_elems = true;
    return true;
}

/* A tensor without elements is known by its type. */
static bool
elems_of_empty(onnx_node *n, onnx_value *v)
{
    tn_list dims;
    bool empty = false;
    if (!v->expr || !v->expr->type || !tn_type_dims(v->expr->type, &dims) || dims.n > ONNX_MAX_RANK)
        return false;
    for (uint32_t i = 0; i < dims.n; i++) {
        if (!tn_int_value(dims.at[i], &v->dims[i]))
            return false;
        empty |= v->dims[i] == 0;
    }
    if (!empty || !is_small((int32_t)dims.n, v->dims))
        return false;
    v->elems = TNB_NEW_N(n->imp->arena, const tn_expr *, 1);
    v->ndim = (int32_t)dims.n;
    v->dtype = onnx_dtype(v->expr);
    v->has_elems = true;
    return true;
}

bool
onnx_value_known(onnx_node *n, onnx_value *v)
{
    if (!v || v->has_elems)
        return v != NULL;
    if (v->tried_elems)
        return false;
    v->tried_elems = true;
    if (v->init) {
        size_t len;
        onnx_model_tensor(n->imp->model, v->init, &len);
        if (len > 64 * 1024 || tn_is_error(onnx_value_expr(n, v)))
            return false;
    }
    const tn_constant *c = tn_as_constant(v->expr);
    return c ? elems_of_constant(n, v, c->data) : elems_of_empty(n, v);
}

bool
onnx_known(onnx_node *n, uint32_t i)
{
    return onnx_has(n, i) && onnx_value_known(n, n->in[i]);
}

/* ---- values as tensors ---- */

const tn_expr *
onnx_value_expr(onnx_node *n, onnx_value *v)
{
    if (v->expr)
        return v->expr;
    if (v->init) {
        const Onnx__TensorProto *t = v->init;
        const tn_expr *x = onnx_tensor(n, t, tn_strf(n->ctx, "initializer '%s'", v->name));
        if (tn_is_error(
                x)) /* recorded again for the next one who asks: this error may be taken back */
            return x;
        v->init = NULL;
        v->expr = x;
    } else if (v->has_elems) {
        v->expr = onnx_elems_expr(n, v->elems, v->n_elems, v->dtype, v->ndim, v->dims);
    }
    if (!v->expr) {
        onnx_fail(n, TNB_UNSUPPORTED, "value '%s' cannot be made a tensor", v->name);
        return tn_error_node(n->ctx);
    }
    return v->expr;
}

const tn_expr *
onnx_in(onnx_node *n, uint32_t i)
{
    if (onnx_has(n, i))
        return onnx_value_expr(n, n->in[i]);
    if (!n->failed)
        onnx_fail(n, TNB_INVALID, "input %u is missing", i);
    return tn_error_node(n->ctx);
}

tnb_dtype
onnx_in_dtype(onnx_node *n, uint32_t i)
{
    if (!onnx_has(n, i))
        return TNB_VOID;
    if (n->in[i]->has_elems)
        return n->in[i]->dtype;
    return onnx_dtype(onnx_value_expr(n, n->in[i]));
}

/* ---- what must be known at compile time ---- */

const tn_node *
onnx_run_time_inputs(onnx_import *imp, onnx_value *v)
{
    TNB_VEC(onnx_value *) todo = {0};
    const tn_node *found = NULL;
    uint32_t mark = ++imp->mark;
    TNB_PUSH(imp->arena, todo, v);
    while (todo.n) {
        onnx_value *at = todo.at[--todo.n];
        if (!at || at->mark == mark)
            continue;
        at->mark = mark;
        if (at->run_time_input)
            found = tn_dict_set(imp->ctx, found, at->run_time_input, tn_i64(imp->ctx, at->place));
        for (uint32_t i = 0; i < at->n_deps && !at->shape_only; i++)
            TNB_PUSH(imp->arena, todo, at->deps[i]);
    }
    return found;
}

bool
onnx_blame_inputs(onnx_node *n, uint32_t i)
{
    onnx_import *imp = n->imp;
    const tn_dict *inputs = onnx_has(n, i) ? tn_as_dict(onnx_run_time_inputs(imp, n->in[i])) : NULL;
    for (uint32_t k = 0; inputs && k < inputs->items.n; k++) {
        const tn_pair *p = tn_as_pair(inputs->items.at[k]);
        onnx_note(n, "it depends on the value of the run-time input '%s'", p->key);
        imp->must_bind = tn_dict_set(n->ctx, imp->must_bind, p->key, p->value);
    }
    if (inputs && inputs->items.n) {
        const char *name = tn_as_pair(inputs->items.at[0])->key;
        onnx_hint(n, "give the value of input '%s' at compile time: --bind %s=FILE", name, name);
    }
    return inputs && inputs->items.n;
}

static bool
must_know(onnx_node *n, uint32_t i, const char *what)
{
    if (n->failed)
        return false;
    if (!onnx_has(n, i))
        return onnx_fail(n, TNB_INVALID, "input %u (%s) is missing", i, what);
    tn_list dims;
    const tn_expr *x = onnx_value_expr(n, n->in[i]);
    bool counted = !tn_is_error(x) && tn_type_dims(x->type, &dims);
    for (uint32_t k = 0; counted && k < dims.n; k++)
        counted = tn_is(dims.at[k], TN_KIND_INT_IMM);
    onnx_fail(n, TNB_UNSUPPORTED, "%s (input %u, '%s') %s to be known when the model is compiled",
              what, i, n->in[i]->name, counted ? "has" : "or its number of entries has");
    onnx_blame_inputs(n, i);
    return false;
}

bool
onnx_elems(onnx_node *n, uint32_t i, const char *what, const tn_expr *const **e, uint32_t *count)
{
    if (!onnx_known(n, i) && !onnx_read(n, i))
        return must_know(n, i, what);
    onnx_value *v = n->in[i];
    if (tnb_dtype_is_float(v->dtype))
        return onnx_fail(n, TNB_TYPE, "%s (input %u, '%s') has dtype %s, expected integers", what,
                         i, v->name, tnb_dtype_print(v->dtype).s);
    *e = v->elems;
    *count = v->n_elems;
    return onnx_demand_fit(n, v);
}

bool
onnx_ints(onnx_node *n, uint32_t i, const char *what, int64_t *out, uint32_t max, uint32_t *count)
{
    const tn_expr *const *e;
    if (!onnx_known(n, i))
        return must_know(n, i, what);
    if (!onnx_elems(n, i, what, &e, count))
        return false;
    if (*count > max)
        return onnx_fail(n, TNB_BOUNDS, "%s (input %u, '%s') has %u entries, at most %u make sense",
                         what, i, n->in[i]->name, *count, max);
    for (uint32_t k = 0; k < *count; k++)
        if (!tn_int_value(onnx_simplify(n, e[k]), &out[k])) {
            onnx_fail(n, TNB_UNSUPPORTED,
                      "entry %u of %s (input %u, '%s') is %s, expected a number", k, what, i,
                      n->in[i]->name, onnx_dim_text(n->imp, e[k]));
            if (!onnx_blame_inputs(n, i))
                onnx_hint_dims(n);
            return false;
        }
    return true;
}

bool
onnx_floats(onnx_node *n, uint32_t i, const char *what, double *out, uint32_t max, uint32_t *count)
{
    if (!onnx_known(n, i))
        return must_know(n, i, what);
    onnx_value *v = n->in[i];
    *count = v->n_elems;
    if (*count > max)
        return onnx_fail(n, TNB_BOUNDS, "%s (input %u, '%s') has %u entries, at most %u make sense",
                         what, i, v->name, *count, max);
    for (uint32_t k = 0; k < *count; k++) {
        const tn_expr *e =
            tnb_dtype_is_float(v->dtype) ? v->elems[k] : onnx_simplify(n, v->elems[k]);
        const tn_float_imm *f = tn_as_float_imm(e);
        int64_t x;
        if (f)
            out[k] = f->value;
        else if (tn_int_value(e, &x))
            out[k] = (double)x;
        else
            return onnx_fail(n, TNB_UNSUPPORTED, "entry %u of %s (input %u, '%s') is not a number",
                             k, what, i, v->name);
    }
    return true;
}

static bool
one(onnx_node *n, uint32_t i, const char *what, uint32_t count)
{
    return count == 1 || onnx_fail(n, TNB_SHAPE, "%s (input %u, '%s') has %u entries, expected one",
                                   what, i, n->in[i]->name, count);
}

bool
onnx_in_int(onnx_node *n, uint32_t i, const char *what, int64_t *out)
{
    uint32_t count;
    int64_t v[8];
    if (!onnx_ints(n, i, what, v, 8, &count) || !one(n, i, what, count))
        return false;
    *out = v[0];
    return true;
}

bool
onnx_in_float(onnx_node *n, uint32_t i, const char *what, double *out)
{
    uint32_t count;
    double v[8];
    if (!onnx_floats(n, i, what, v, 8, &count) || !one(n, i, what, count))
        return false;
    *out = v[0];
    return true;
}

/* ---- results ---- */

bool
onnx_ret_at(onnx_node *n, uint32_t i, const tn_expr *e)
{
    if (n->failed || tn_is_error(e) || !e) {
        n->failed = true;
        return false;
    }
    if (i < n->n_out && n->out[i])
        n->out[i]->expr = onnx_emit_call(n, e);
    /* handlers have room for so many axes of an input */
    int64_t rank = tn_type_ndim(e->type);
    if (!n->failed && rank > ONNX_MAX_DIMS)
        onnx_fail(n, TNB_BOUNDS, "output %u has rank %" PRId64 ", at most %d is supported", i, rank,
                  ONNX_MAX_DIMS);
    return !n->failed;
}

bool
onnx_ret(onnx_node *n, const tn_expr *e)
{
    if (!n->failed && e && e->type && e->type->kind == TN_KIND_TY_TUPLE) {
        for (uint32_t i = 0; i < n->n_out; i++)
            if (n->out[i] && !onnx_ret_at(n, i, onnx_tuple_get(n, e, i)))
                return false;
        return true;
    }
    return onnx_ret_at(n, 0, e);
}

bool
onnx_ret_elems(onnx_node *n, uint32_t i, tnb_dtype d, int32_t ndim, const int64_t *dims,
               const tn_expr *const *elems)
{
    if (i >= n->n_out || !n->out[i])
        return true;
    if (!is_small(ndim, dims))
        return false;
    onnx_value *v = n->out[i];
    uint64_t count = 1;
    v->dtype = d;
    v->ndim = ndim;
    for (int32_t k = 0; k < ndim; k++) {
        v->dims[k] = dims[k];
        count *= (uint64_t)dims[k];
    }
    v->elems = elems;
    v->n_elems = (uint32_t)count;
    v->has_elems = true;
    return true;
}

void
onnx_ret_value(onnx_node *n, uint32_t i, onnx_value *from)
{
    if (i >= n->n_out || !n->out[i])
        return;
    onnx_value *v = n->out[i], **dep = TNB_NEW(n->imp->arena, onnx_value *);
    *dep = from;
    v->deps = dep; /* not what the node reads besides */
    v->n_deps = 1;
    v->shape_only = false;
    v->maker = NULL;
    v->same_as = from;
    v->expr = from->expr;
    v->init = from->init;
    v->elems = from->elems;
    v->n_elems = from->n_elems;
    v->has_elems = from->has_elems;
    v->tried_elems = from->tried_elems;
    v->ndim = from->ndim;
    v->dtype = from->dtype;
    memcpy(v->dims, from->dims, sizeof v->dims);
}
