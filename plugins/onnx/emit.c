/* SPDX-License-Identifier: Apache-2.0 */
/* Emitting Relax calls: one helper an operator that many handlers need, in the form this IR wants.
 */
#include <inttypes.h>
#include <math.h>
#include "import.h"
#include "tenon/base/scalar.h"
#include "tenon/core/walk.h"
#include "tenon/kit/te.h"

/* Extents that a node computes, by padding or from a shape that it is given, may be below zero. */
static bool
check_extents(onnx_node *n, const tn_type *t)
{
    tn_list dims;
    int64_t x;
    const tn_ty_tuple *tuple = tn_as_ty_tuple(t);
    for (uint32_t i = 0; tuple && i < tuple->fields.n; i++)
        if (!check_extents(n, tuple->fields.at[i]))
            return false;
    if (!tn_is(t, TN_KIND_TY_TENSOR) || !tn_type_dims(t, &dims))
        return true;
    for (uint32_t i = 0; i < dims.n; i++)
        if (tn_int_value(dims.at[i], &x) && x < 0)
            return onnx_fail(n, TNB_SHAPE, "axis %u of what it gives has the extent %" PRId64, i,
                             x);
    return true;
}

const tn_expr *
onnx_emit_call(onnx_node *n, const tn_expr *call)
{
    if (n->failed || !call || tn_is_error(call)) {
        n->failed = true;
        return tn_error_node(n->ctx);
    }
    if (tn_is_var(call) || tn_is(call, TN_KIND_CONSTANT))
        return call;
    const tn_expr *v = tn_emit(n->imp->b, call, "lv");
    n->failed |= tn_is_error(v) || !check_extents(n, v->type);
    return n->failed ? tn_error_node(n->ctx) : v;
}

const tn_expr *
onnx_emit(onnx_node *n, const char *op, const tn_node *attrs, ...)
{
    const tn_expr *args[16], *a;
    uint32_t count = 0;
    va_list ap;
    bool bad = n->failed;
    va_start(ap, attrs);
    while ((a = va_arg(ap, const tn_expr *)) && count < 16) {
        bad |= tn_is_error(a);
        args[count++] = a;
    }
    va_end(ap);
    if (bad) {
        n->failed = true;
        return tn_error_node(n->ctx);
    }
    return onnx_emit_call(n, tn_call_op(n->ctx, op, tn_list_of(n->ctx, args, count), attrs));
}

/* ---- types ---- */

tnb_dtype
onnx_dtype(const tn_expr *x)
{
    return x && x->type ? tn_type_dtype(x->type) : TNB_VOID;
}

int64_t
onnx_rank(onnx_node *n, const tn_expr *x)
{
    int64_t r = x && x->type && !tn_is_error(x) ? tn_type_ndim(x->type) : -1;
    if (r < 0 && !n->failed)
        onnx_unknown(n, "the rank of an input has");
    return r;
}

bool
onnx_dims(onnx_node *n, const tn_expr *x, tn_list *dims)
{
    if (x && x->type && !tn_is_error(x) && tn_type_dims(x->type, dims))
        return true;
    if (!n->failed)
        onnx_unknown(n, "the shape of an input has");
    return false;
}

int64_t
onnx_dim(const tn_expr *x, int64_t i)
{
    tn_list dims;
    int64_t v = -1;
    if (!x || !x->type || !tn_type_dims(x->type, &dims) || i < 0 || (uint64_t)i >= dims.n ||
        !tn_int_value(dims.at[i], &v))
        return -1;
    return v;
}

int
onnx_static_dims(onnx_node *n, const tn_expr *x, int64_t *out, const char *what)
{
    tn_list dims;
    if (!onnx_dims(n, x, &dims))
        return -1;
    for (uint32_t i = 0; i < dims.n && i < ONNX_MAX_DIMS; i++)
        if (!tn_int_value(dims.at[i], &out[i])) {
            onnx_fail(n, TNB_UNSUPPORTED, "extent %u of %s is %s, expected a number", i, what,
                      onnx_dim_text(n->imp, dims.at[i]));
            onnx_hint_dims(n);
            return -1;
        }
    return (int)dims.n;
}

const tn_expr *
onnx_simplify(onnx_node *n, const tn_expr *e)
{
    return tn_is(e, TN_KIND_INT_IMM) || tn_is_var(e) ? e : tn_simplify_now(n->ctx, e);
}

/* ---- constants ---- */

/* The error node, and the reason: numbers of this dtype cannot be written down, as of complex ones. */
static const tn_expr *
no_constant(onnx_node *n, tnb_dtype d)
{
    if (!n->failed)
        onnx_fail(n, TNB_UNSUPPORTED,
                  "the operator computes with numbers of dtype %s, which there are not here",
                  tnb_dtype_print(d).s);
    return tn_error_node(n->ctx);
}

const tn_expr *
onnx_scalar(onnx_node *n, tnb_dtype d, double v)
{
    const tn_expr *c = tn_scalar_constant(n->ctx, d, v);
    return tn_is_error(c) ? no_constant(n, d) : c;
}

const tn_expr *
onnx_const_ints(onnx_node *n, tnb_dtype d, const int64_t *v, uint32_t count)
{
    void *mem = NULL;
    int64_t shape = count;
    const tn_data *data = tn_data_new(n->ctx, d, 1, &shape, &mem);
    if (!data)
        return tn_error_node(n->ctx);
    for (uint32_t i = 0; i < count; i++)
        if (tnb_dtype_is_float(d) ? !tnb_store_f64(mem, d, i, (double)v[i])
                                  : !tnb_store_i64(mem, d, i, v[i]))
            return no_constant(n, d);
    return tn_constant_of(n->ctx, data);
}

const tn_expr *
onnx_scalar_int(onnx_node *n, tnb_dtype d, int64_t v)
{
    void *mem = NULL;
    const tn_data *data = tn_data_new(n->ctx, d, 0, NULL, &mem);
    if (!data)
        return tn_error_node(n->ctx);
    if (tnb_dtype_is_float(d) ? !tnb_store_f64(mem, d, 0, (double)v) : !tnb_store_i64(mem, d, 0, v))
        return no_constant(n, d);
    return tn_constant_of(n->ctx, data);
}

static const tn_expr *
literal_constant(onnx_node *n, const tn_expr *const *elems, uint32_t count, tnb_dtype d,
                 int32_t ndim, const int64_t *dims)
{
    void *mem = NULL;
    const tn_data *data = tn_data_new(n->ctx, d, ndim, dims, &mem);
    if (!data)
        return tn_error_node(n->ctx);
    for (uint32_t i = 0; i < count; i++) {
        const tn_float_imm *f = tn_as_float_imm(elems[i]);
        int64_t v = 0;
        bool is_int = tn_int_value(elems[i], &v);
        if (!f && !is_int)
            return NULL;
        if (f                       ? !tnb_store_f64(mem, d, i, f->value)
            : tnb_dtype_is_float(d) ? !tnb_store_f64(mem, d, i, (double)v)
                                    : !tnb_store_i64(mem, d, i, v))
            return NULL;
    }
    return tn_constant_of(n->ctx, data);
}

/* Scalar terms as a tensor: a program with the symbolic variables as parameters. */
static const tn_expr *
scalars_tensor(onnx_node *n, const tn_expr *const *e, uint32_t count, tnb_dtype d, int32_t ndim,
               const int64_t *dims)
{
    tn_ctx *ctx = n->ctx;
    tnk_te *te = tnk_te_new(ctx);
    const tn_expr *extents[ONNX_MAX_RANK], *idx[ONNX_MAX_RANK];
    const tn_node *out;
    for (int32_t i = 0; i < ndim; i++)
        extents[i] = tn_i64(ctx, dims[i]);
    if (count == 1) {
        out = tnk_te_define(tnk_te_stage(te, "number", extents, (uint32_t)ndim, d),
                            tn_cast_to(ctx, d, tnk_te_expr(te, e[0])));
    } else {
        tn_list stores = {0};
        out = tnk_te_buffer(te, "numbers", extents, (uint32_t)ndim, d);
        for (uint32_t k = 0; k < count; k++) {
            int64_t rest = k;
            for (int32_t i = ndim; i-- > 0; rest /= dims[i])
                idx[i] = tn_i64(ctx, rest % dims[i]);
            stores = tn_list_append(ctx, stores,
                                    tn_buffer_store_of(ctx, out,
                                                       tn_cast_to(ctx, d, tnk_te_expr(te, e[k])),
                                                       tn_list_of(ctx, idx, (uint32_t)ndim)));
        }
        tnk_te_extern(te, "numbers", NULL, 0, &out, 1, tn_seq_of(ctx, stores));
    }
    return onnx_emit_call(n, tnk_te_call(te, n->imp->b, "numbers", NULL, 0, &out, 1));
}

/* An element with simple integers in it; a float that is a whole number becomes a literal. */
static const tn_expr *
simple_element(onnx_node *n, const tn_expr *e)
{
    const tn_cast *c = tn_as_cast(e);
    int64_t v;
    if (tnb_dtype_is_int(tn_dtype_of(e)))
        return onnx_simplify(n, e);
    if (!c || !tnb_dtype_is_int(tn_dtype_of(c->value)))
        return e;
    const tn_expr *whole = onnx_simplify(n, c->value);
    return tn_int_value(whole, &v) ? tn_float_imm_of(n->ctx, TNB_F64, (double)v)
                                   : tn_raw_cast(n->ctx, tn_dtype_of(e), whole);
}

const tn_expr *
onnx_elems_expr(onnx_node *n, const tn_expr *const *elems, uint32_t count, tnb_dtype d,
                int32_t ndim, const int64_t *dims)
{
    bool literal = true;
    const tn_expr **e = TNB_NEW_N(n->imp->arena, const tn_expr *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        e[i] = simple_element(n, elems[i]);
        literal &= tn_is(e[i], TN_KIND_FLOAT_IMM) || tn_is(e[i], TN_KIND_INT_IMM);
    }
    return literal ? literal_constant(n, e, count, d, ndim, dims)
                   : scalars_tensor(n, e, count, d, ndim, dims);
}

/* ---- calls ---- */

const tn_expr *
onnx_un(onnx_node *n, const char *op, const tn_expr *a)
{
    return onnx_emit(n, op, NULL, a, NULL);
}

typedef struct term_numbers {
    int64_t at[8];
    uint32_t n;
} term_numbers;

static tn_walk_step
note_literal(void *user, const tn_node *e)
{
    term_numbers *l = user;
    int64_t v;
    if (l->n < 8 && tn_is(e, TN_KIND_INT_IMM) && tn_int_value(e, &v) && v > -(1 << 30) &&
        v < 1 << 30)
        l->at[l->n++] = v < 0 ? -v : v;
    return TN_WALK_ON;
}

/* Whether for this value of their variables one extent is 1 and the other larger. */
static bool
one_is_broadcast(onnx_node *n, const tn_expr *x, const tn_expr *y, tn_list vars, int64_t value)
{
    tnb_ptrmap map;
    int64_t a, b;
    tnb_ptrmap_init(&map, n->imp->arena);
    for (uint32_t i = 0; i < vars.n; i++)
        tnb_ptrmap_set(&map, vars.at[i], tn_int_imm_of(n->ctx, tn_dtype_of(vars.at[i]), value));
    return tn_int_value(onnx_simplify(n, tn_subst(n->ctx, x, &map)), &a) &&
           tn_int_value(onnx_simplify(n, tn_subst(n->ctx, y, &map)), &b) &&
           ((a == 1 && b > 1) || (b == 1 && a > 1));
}

/* Whether one extent may be 1 where the other is not, as of 2 * n and n, or n and n - 20: then one operand is
 * broadcast, and the extents need not be equal. Found by trying small numbers and those near the terms' own
 * literals; terms of which one is 1 only elsewhere are taken to be equal, which run time checks. */
static bool
may_be_broadcast(onnx_node *n, const tn_expr *x, const tn_expr *y, tn_list vars)
{
    term_numbers l = {.n = 0};
    tn_walk(x, 0, note_literal, NULL, &l);
    tn_walk(y, 0, note_literal, NULL, &l);
    for (int64_t v = 1; v <= 9; v++)
        if (one_is_broadcast(n, x, y, vars, v))
            return true;
    for (uint32_t i = 0; i < l.n; i++)
        for (int64_t v = l.at[i] > 1 ? l.at[i] - 1 : 1; v <= l.at[i] + 1; v++)
            if (v > 9 && one_is_broadcast(n, x, y, vars, v))
                return true;
    return false;
}

/* Whether two extents are terms over the same variables that nobody can compare now, as n and
 * min(n, 8), and that are 1 together. */
static bool
must_agree(onnx_node *n, const tn_expr *x, const tn_expr *y)
{
    if (x == y || tn_is(x, TN_KIND_INT_IMM) || tn_is(y, TN_KIND_INT_IMM) ||
        tn_prove_equal(n->ctx, x, y))
        return false;
    tn_list vx = tn_free_vars(n->ctx, x, false);
    for (uint32_t i = 0; i < vx.n; i++)
        if (!tn_uses(y, vx.at[i]))
            return false;
    return vx.n && tn_free_vars(n->ctx, y, false).n == vx.n && !may_be_broadcast(n, x, y, vx);
}

/* Operands that must be broadcast at run time although their extents differ as terms: the second
 * one gets the first one's extents by a check at run time. */
static const tn_expr *
agreed(onnx_node *n, const tn_expr *a, const tn_expr *b)
{
    tn_list da, db;
    const tn_expr *out[ONNX_MAX_DIMS];
    bool changed = false;
    if (!a || !b || !a->type || !b->type || a->type->kind != TN_KIND_TY_TENSOR ||
        b->type->kind != TN_KIND_TY_TENSOR || !tn_type_dims(a->type, &da) ||
        !tn_type_dims(b->type, &db) || db.n > ONNX_MAX_DIMS)
        return b;
    for (uint32_t i = 0; i < db.n; i++) {
        out[i] = db.at[i];
        if (i + da.n < db.n || !must_agree(n, da.at[i + da.n - db.n], db.at[i]))
            continue;
        out[i] = da.at[i + da.n - db.n];
        changed = true;
    }
    if (!changed)
        return b;
    return onnx_match_extents(n, b, tn_list_of(n->ctx, out, db.n), "an operand", "mc");
}

const tn_expr *
onnx_bin(onnx_node *n, const char *op, const tn_expr *a, const tn_expr *b)
{
    if (!tn_is_error(a) && !tn_is_error(b) && strcmp(op, "matmul") != 0)
        b = agreed(n, a, b);
    return onnx_emit(n, op, NULL, a, b, NULL);
}

const tn_expr *
onnx_bin_num(onnx_node *n, const char *op, const tn_expr *x, double v)
{
    if (tn_is_error(x))
        return x;
    tnb_dtype d = onnx_dtype(x);
    return onnx_bin(n, op, x,
                    tnb_dtype_is_float(d) ? onnx_scalar(n, d, v)
                                          : onnx_scalar_int(n, d, tnb_f64_to_i64(v)));
}

const tn_expr *
onnx_astype(onnx_node *n, const tn_expr *x, tnb_dtype d)
{
    if (tn_is_error(x) || tnb_dtype_eq(onnx_dtype(x), d))
        return x;
    return onnx_emit(n, "astype", tn_dictv(n->ctx, "dtype", tn_dtype_imm_of(n->ctx, d), NULL), x,
                     NULL);
}

const tn_expr *
onnx_as_scaled(onnx_node *n, const tn_expr *x)
{
    if (tn_is_error(x) || !tnb_dtype_is_int(onnx_dtype(x)))
        return x;
    return onnx_astype(n, x, onnx_dtype(x).bits <= 16 ? TNB_F32 : TNB_F64);
}

static bool
has_dims(onnx_node *n, const tn_expr *x, const tn_expr *const *dims, uint32_t n_dims)
{
    tn_list have;
    if (!x || !x->type || !tn_type_dims(x->type, &have) || have.n != n_dims)
        return false;
    for (uint32_t i = 0; i < n_dims; i++)
        if (have.at[i] != dims[i] && !tn_prove_equal(n->ctx, have.at[i], dims[i]))
            return false;
    return true;
}

/* The same constant with other extents: no copy of large data. NULL: not possible. */
static const tn_expr *
constant_reshaped(onnx_node *n, const tn_data *d, const tn_expr *const *dims, uint32_t n_dims)
{
    int64_t shape[ONNX_MAX_DIMS];
    uint64_t count;
    void *mem;
    for (uint32_t i = 0; i < n_dims; i++)
        if (n_dims > ONNX_MAX_DIMS || !tn_int_value(dims[i], &shape[i]))
            return NULL;
    if (!tnb_shape_count((int32_t)n_dims, shape, &count) || count != d->n_elems)
        return NULL;
    if (d->kind == TN_DATA_SPLAT)
        return tn_constant_of(n->ctx,
                              tn_data_splat(n->ctx, d->dtype, (int32_t)n_dims, shape, d->splat));
    if (d->kind == TN_DATA_FILE)
        return tn_constant_of(n->ctx, tn_data_file(n->ctx, d->dtype, (int32_t)n_dims, shape,
                                                   d->bytes, d->file, d->offset));
    if (d->kind != TN_DATA_BYTES || d->n_bytes > 1 << 16)
        return NULL;
    const tn_data *copy = tn_data_new(n->ctx, d->dtype, (int32_t)n_dims, shape, &mem);
    if (!copy)
        return tn_error_node(n->ctx);
    memcpy(mem, d->bytes, d->n_bytes);
    return tn_constant_of(n->ctx, copy);
}

const tn_expr *
onnx_reshape(onnx_node *n, const tn_expr *x, const tn_expr *const *dims, uint32_t n_dims)
{
    if (tn_is_error(x) || has_dims(n, x, dims, n_dims))
        return x;
    const tn_constant *c = tn_as_constant(x);
    const tn_expr *same = c ? constant_reshaped(n, c->data, dims, n_dims) : NULL;
    if (same)
        return same;
    return onnx_bin(n, "reshape", x, tn_shape_expr_of(n->ctx, tn_list_of(n->ctx, dims, n_dims)));
}

static const tn_expr **
literals(onnx_node *n, const int64_t *v, uint32_t count)
{
    const tn_expr **e = TNB_NEW_N(n->imp->arena, const tn_expr *, count + 1);
    for (uint32_t i = 0; i < count; i++)
        e[i] = tn_i64(n->ctx, v[i]);
    return e;
}

const tn_expr *
onnx_reshape_ints(onnx_node *n, const tn_expr *x, const int64_t *dims, uint32_t n_dims)
{
    return onnx_reshape(n, x, literals(n, dims, n_dims), n_dims);
}

const tn_expr *
onnx_permute(onnx_node *n, const tn_expr *x, const int64_t *perm, uint32_t rank)
{
    bool same = true;
    for (uint32_t i = 0; i < rank; i++)
        same &= perm[i] == i;
    if (same)
        return x;
    return onnx_emit(n, "permute_dims",
                     tn_dictv(n->ctx, "axes", tn_int_array(n->ctx, perm, rank), NULL), x, NULL);
}

const tn_expr *
onnx_unsqueeze(onnx_node *n, const tn_expr *x, const int64_t *axes, uint32_t count)
{
    if (!count)
        return x;
    return onnx_emit(n, "expand_dims",
                     tn_dictv(n->ctx, "axis", tn_int_array(n->ctx, axes, count), NULL), x, NULL);
}

const tn_expr *
onnx_squeeze(onnx_node *n, const tn_expr *x, const int64_t *axes, uint32_t count)
{
    if (!count)
        return x;
    return onnx_emit(n, "squeeze",
                     tn_dictv(n->ctx, "axis", tn_int_array(n->ctx, axes, count), NULL), x, NULL);
}

const tn_expr *
onnx_concat(onnx_node *n, const tn_expr *const *x, uint32_t count, int64_t axis)
{
    for (uint32_t i = 0; i < count; i++)
        if (tn_is_error(x[i]))
            return x[i];
    if (count == 1)
        return x[0];
    return onnx_emit(n, "concat", tn_dictv(n->ctx, "axis", tn_i64(n->ctx, axis), NULL),
                     tn_tuple_of(n->ctx, tn_list_of(n->ctx, x, count)), NULL);
}

const tn_expr *
onnx_slice(onnx_node *n, const tn_expr *x, const int64_t *axes, const tn_expr *const *begin,
           const tn_expr *const *end, const int64_t *stride, uint32_t count)
{
    tn_ctx *ctx = n->ctx;
    if (!count || tn_is_error(x))
        return x;
    int64_t *ones = TNB_NEW_N(n->imp->arena, int64_t, count);
    for (uint32_t i = 0; i < count; i++)
        ones[i] = 1;
    return onnx_emit(n, "strided_slice", tn_dictv(ctx, "assume_inbound", tn_bool(ctx, false), NULL),
                     x, tn_tuple_of(ctx, tn_list_of(ctx, literals(n, axes, count), count)),
                     tn_tuple_of(ctx, tn_list_of(ctx, begin, count)),
                     tn_tuple_of(ctx, tn_list_of(ctx, end, count)),
                     tn_tuple_of(ctx, tn_list_of(ctx, literals(n, stride ? stride : ones, count),
                                                 count)),
                     NULL);
}

const tn_expr *
onnx_slice_ints(onnx_node *n, const tn_expr *x, int64_t axis, int64_t begin, int64_t end)
{
    if (begin == 0 && onnx_dim(x, axis) == end)
        return x;
    const tn_expr *b = tn_i64(n->ctx, begin), *e = tn_i64(n->ctx, end);
    return onnx_slice(n, x, &axis, &b, &e, NULL, 1);
}

const tn_expr *
onnx_broadcast(onnx_node *n, const tn_expr *x, const tn_expr *const *dims, uint32_t n_dims)
{
    if (tn_is_error(x) || has_dims(n, x, dims, n_dims))
        return x;
    return onnx_bin(n, "broadcast_to", x,
                    tn_shape_expr_of(n->ctx, tn_list_of(n->ctx, dims, n_dims)));
}

const tn_expr *
onnx_one_way(onnx_node *n, const tn_expr *x, const tn_expr *y)
{
    tn_list want, have;
    if (!onnx_dims(n, y, &want) || !onnx_dims(n, x, &have))
        return tn_error_node(n->ctx);
    bool fits = have.n <= want.n;
    for (uint32_t i = 0; fits && i < have.n; i++) {
        const tn_expr *d = have.at[i];
        fits = tn_is_int_const(d, 1) || tn_prove_equal(n->ctx, d, want.at[i + want.n - have.n]);
    }
    return fits ? x : onnx_broadcast(n, x, want.at, want.n);
}

const tn_expr *
onnx_take(onnx_node *n, const tn_expr *x, const tn_expr *indices, int64_t axis)
{
    return onnx_emit(n, "take", tn_dictv(n->ctx, "axis", tn_i64(n->ctx, axis), NULL), x, indices,
                     NULL);
}

bool
onnx_is_large(onnx_node *n, tnb_dtype d, const int64_t *shape, uint32_t n_dims)
{
    uint64_t count, bytes;
    return tnb_shape_bytes(d, (int32_t)n_dims, shape, &count, &bytes, NULL) == TNB_OK &&
           bytes > TN_LARGE_SPLAT && bytes <= tn_limit_get(n->ctx, TN_LIMIT_CONSTANTS);
}

const tn_expr *
onnx_full(onnx_node *n, const tn_expr *const *dims, uint32_t n_dims, tnb_dtype d, double v)
{
    int64_t shape[ONNX_MAX_DIMS];
    uint8_t elem[16] = {0};
    bool fixed = n_dims <= ONNX_MAX_DIMS;
    for (uint32_t i = 0; i < n_dims && fixed; i++)
        fixed = tn_int_value(dims[i], &shape[i]);
    if (fixed && !onnx_is_large(n, d, shape, n_dims) && tnb_store_f64(elem, d, 0, v))
        return tn_constant_of(n->ctx, tn_data_splat(n->ctx, d, (int32_t)n_dims, shape, elem));
    return onnx_emit(n, "full", tn_dictv(n->ctx, "dtype", tn_dtype_imm_of(n->ctx, d), NULL),
                     tn_shape_expr_of(n->ctx, tn_list_of(n->ctx, dims, n_dims)),
                     onnx_scalar(n, d, v), NULL);
}

const tn_expr *
onnx_arange(onnx_node *n, const tn_expr *start, const tn_expr *end, const tn_expr *step,
            tnb_dtype d)
{
    return onnx_emit(n, "arange", tn_dictv(n->ctx, "dtype", tn_dtype_imm_of(n->ctx, d), NULL),
                     start, end, step, NULL);
}

const tn_expr *
onnx_reduce(onnx_node *n, const char *op, const tn_expr *x, const int64_t *axes, uint32_t count,
            bool keep)
{
    return onnx_emit(n, op,
                     tn_dictv(n->ctx, "axis",
                              axes ? tn_int_array(n->ctx, axes, count) : tn_none_value(n->ctx),
                              "keepdims", tn_bool(n->ctx, keep), NULL),
                     x, NULL);
}

const tn_expr *
onnx_pad(onnx_node *n, const tn_expr *x, const int64_t *begin, const int64_t *end, uint32_t rank,
         double value)
{
    int64_t width[2 * ONNX_MAX_DIMS];
    bool none = true;
    for (uint32_t i = 0; i < rank; i++) {
        width[2 * i] = begin[i];
        width[2 * i + 1] = end[i];
        none &= !begin[i] && !end[i];
    }
    if (none)
        return x;
    return onnx_emit(n, "nn.pad",
                     tn_dictv(n->ctx, "pad_width", tn_int_array(n->ctx, width, 2 * rank),
                              "pad_value", tn_float_imm_of(n->ctx, TNB_F64, value), NULL),
                     x, NULL);
}

const tn_expr *
onnx_where(onnx_node *n, const tn_expr *c, const tn_expr *a, const tn_expr *b)
{
    return onnx_emit(n, "where", NULL, c, a, b, NULL);
}

const tn_expr *
onnx_clip(onnx_node *n, const tn_expr *x, double lo, double hi)
{
    if (tn_is_error(x))
        return x;
    tnb_dtype d = onnx_dtype(x);
    return onnx_emit(n, "clip", NULL, x, tn_literal(n->ctx, d, lo), tn_literal(n->ctx, d, hi),
                     NULL);
}

const tn_expr *
onnx_tuple_get(onnx_node *n, const tn_expr *t, uint32_t i)
{
    if (tn_is_error(t))
        return t;
    const tn_ty_tuple *ty = tn_as_ty_tuple(t->type);
    if (!ty || i >= ty->fields.n) {
        onnx_fail(n, TNB_INVALID, "there is no output %u", i);
        return tn_error_node(n->ctx);
    }
    return onnx_emit_call(n, tn_tuple_item(n->ctx, t, i));
}

const tn_expr *
onnx_along_axis(onnx_node *n, uint32_t i, int64_t axes, int64_t rank, const char *op,
                const tn_expr *(*make)(onnx_node *n, const char *op, int64_t axis))
{
    const tn_expr *wanted = onnx_reshape(n, onnx_astype(n, onnx_in(n, i), TNB_I64), NULL, 0),
                  *y = make(n, op, 0);
    wanted = onnx_where(n, onnx_bin_num(n, "less", wanted, 0),
                        onnx_bin_num(n, "add", wanted, (double)rank), wanted);
    wanted = onnx_in_range(n, wanted, tn_i64(n->ctx, axes), "the axis");
    if (axes == 1) /* the check of the number stays where it is read: the sum is never taken */
        y = onnx_where(n, onnx_bin_num(n, "equal", wanted, 0), y, onnx_bin(n, "add", y, y));
    for (int64_t k = 1; k < axes && !n->failed; k++)
        y = onnx_where(n, onnx_bin_num(n, "equal", wanted, (double)k), make(n, op, k), y);
    return y;
}
