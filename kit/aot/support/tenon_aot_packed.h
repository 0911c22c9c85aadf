/* SPDX-License-Identifier: Apache-2.0 */
/* The packed functions of runtime/builtin.c that generated host code calls. A part of tenon_aot_run.h, which includes it behind what it
 * stands on. Each sets its result through `to`; `lenient` is of a dry run, where numbers that depend on elements are not known.
 */
#ifndef TENON_AOT_PACKED_H
#define TENON_AOT_PACKED_H

#define TENON_PACKED tenon_run *r, tenon_value *to, const tenon_value *const *a, int n, int lenient
#define TENON_NOTHING (void)r, (void)to, (void)a, (void)n, (void)lenient

static TENON_UNUSED int
tenon_alloc_shape_heap(TENON_PACKED)
{
    tenon_dtype i64 = {TENON_INT, 64, 1};
    TENON_NOTHING;
    return a[0]->tag == TV_INT ? tenon_host_tensor(r, to, &a[0]->u.i, 1, i64) : TENON_TYPE;
}

static int
tenon_slot(const tenon_value *heap, int64_t i, int64_t **out)
{
    if (heap->tag != TV_TENSOR || i < 0 || (uint64_t)i >= heap->elems)
        return TENON_BOUNDS;
    *out = (int64_t *)(void *)heap->u.data + i;
    return TENON_OK;
}

static int
tenon_match_one(const tenon_value *heap, int64_t code, int64_t value, int64_t found, int lenient)
{
    int64_t *slot = NULL;
    int st = code == 1 || code == 3 ? tenon_slot(heap, value, &slot) : TENON_OK;
    if (st)
        return st;
    if (code == 1)
        *slot = found;
    if (code == 0 || code == 3)
        return lenient || found == (code == 0 ? value : *slot) ? TENON_OK : TENON_SHAPE;
    return TENON_OK;
}

static TENON_UNUSED int
tenon_match_shape(TENON_PACKED)
{
    TENON_NOTHING;
    const tenon_value *x = a[0];
    if (x->tag != TV_TENSOR && x->tag != TV_SHAPE)
        return TENON_TYPE;
    int64_t rank = a[2]->u.i;
    if (rank != x->ndim)
        return TENON_SHAPE;
    if (rank < 0 || n < 3 + 2 * rank)
        return TENON_INVALID;
    for (int i = 0; i < rank; i++) {
        int st = tenon_match_one(a[1], a[3 + 2 * i]->u.i, a[4 + 2 * i]->u.i, x->dims[i], lenient);
        if (st)
            return st;
    }
    return TENON_OK;
}

static TENON_UNUSED int
tenon_match_prim_value(TENON_PACKED)
{
    int64_t found = 0;
    TENON_NOTHING;
    int st = tenon_unboxi(a[0], &found);
    return st ? st : tenon_match_one(a[1], a[2]->u.i, a[3]->u.i, found, lenient);
}

static int
tenon_make_one(const tenon_value *heap, const tenon_value *const *pair, int64_t *out)
{
    int64_t *slot = NULL;
    *out = pair[1]->u.i;
    if (pair[0]->u.i == 0)
        return TENON_OK;
    int st = tenon_slot(heap, pair[1]->u.i, &slot);
    if (st == TENON_OK)
        *out = *slot;
    return st;
}

static TENON_UNUSED int
tenon_packed_make_shape(TENON_PACKED)
{
    int64_t dims[TENON_DIMS], rank = a[1]->u.i;
    TENON_NOTHING;
    if (rank < 0 || rank > TENON_DIMS || n < 2 + 2 * rank)
        return TENON_INVALID;
    for (int i = 0; i < rank; i++) {
        int st = tenon_make_one(a[0], a + 2 + 2 * i, &dims[i]);
        if (st)
            return st;
    }
    return tenon_shape(r, to, dims, (int)rank);
}

static TENON_UNUSED int
tenon_make_prim_value(TENON_PACKED)
{
    int64_t v = 0;
    TENON_NOTHING;
    int st = tenon_make_one(a[0], a + 1, &v);
    if (st == TENON_OK)
        tenon_set(r, to, tenon_boxed(TV_INT, v));
    return st;
}

static TENON_UNUSED int
tenon_check_tensor_info(TENON_PACKED)
{
    TENON_NOTHING;
    if (a[0]->tag != TV_TENSOR)
        return TENON_TYPE;
    if (a[1]->u.i >= 0 && a[1]->u.i != a[0]->ndim)
        return TENON_SHAPE;
    tenon_dtype d = a[2]->dtype, x = a[0]->dtype;
    return a[2]->tag != TV_DTYPE || (tenon_is(x, d.code, d.bits) && x.lanes == d.lanes)
               ? TENON_OK
               : TENON_TYPE;
}

static TENON_UNUSED int
tenon_check_shape_info(TENON_PACKED)
{
    TENON_NOTHING;
    if (a[0]->tag != TV_SHAPE)
        return TENON_TYPE;
    return a[1]->u.i >= 0 && a[1]->u.i != a[0]->ndim ? TENON_SHAPE : TENON_OK;
}

static TENON_UNUSED int
tenon_check_prim_value_info(TENON_PACKED)
{
    TENON_NOTHING;
    int is_float = a[1]->tag == TV_DTYPE &&
                   (a[1]->dtype.code == TENON_FLOAT || a[1]->dtype.code == TENON_BFLOAT);
    if (is_float ? a[0]->tag == TV_FLOAT : a[0]->tag == TV_INT || a[0]->tag == TV_BOOL)
        return TENON_OK;
    return a[1]->tag != TV_DTYPE && a[0]->tag == TV_FLOAT ? TENON_OK : TENON_TYPE;
}

static TENON_UNUSED int
tenon_check_tuple_info(TENON_PACKED)
{
    TENON_NOTHING;
    return a[0]->tag == TV_TUPLE && a[0]->n == (uint64_t)a[1]->u.i ? TENON_OK : TENON_TYPE;
}

static TENON_UNUSED int
tenon_reshape(TENON_PACKED)
{
    TENON_NOTHING;
    if (a[0]->tag != TV_TENSOR || a[1]->tag != TV_SHAPE)
        return TENON_TYPE;
    tenon_value v = *a[0];
    v.ndim = a[1]->ndim;
    memcpy(v.dims, a[1]->dims, sizeof v.dims);
    int st = tenon_sized(&v);
    if (st)
        return st;
    if (v.elems != a[0]->elems && !lenient)
        return TENON_SHAPE;
    tenon_set(r, to, tenon_keep(r, &v));
    return TENON_OK;
}

static TENON_UNUSED int
tenon_shape_of(TENON_PACKED)
{
    TENON_NOTHING;
    return a[0]->tag == TV_TENSOR ? tenon_shape(r, to, a[0]->dims, a[0]->ndim) : TENON_TYPE;
}

static TENON_UNUSED int
tenon_tensor_to_shape(TENON_PACKED)
{
    int64_t dims[TENON_DIMS] = {0};
    TENON_NOTHING;
    const tenon_value *t = a[0];
    if (t->tag != TV_TENSOR || t->ndim != 1 || t->elems > TENON_DIMS || t->dtype.bits < 8)
        return TENON_TYPE;
    for (uint64_t i = 0; i < t->elems && !lenient; i++) {
        int st = tenon_load_i(t->u.data + i * (t->dtype.bits / 8u), t->dtype, &dims[i]);
        if (st)
            return st;
    }
    return tenon_shape(r, to, dims, (int)t->elems);
}

static TENON_UNUSED int
tenon_checked_shape(TENON_PACKED)
{
    int64_t k = a[1]->u.i;
    TENON_NOTHING;
    if (a[0]->tag != TV_SHAPE)
        return TENON_TYPE;
    if (k < 0 || k >= a[0]->ndim)
        return TENON_INVALID;
    return !a[0]->dims[0] && !lenient ? TENON_SHAPE
                                      : tenon_shape(r, to, a[0]->dims + (a[0]->ndim - k), (int)k);
}

static TENON_UNUSED int
tenon_copy(TENON_PACKED)
{
    TENON_NOTHING;
    tenon_value v = *a[0];
    if (v.tag == TV_TENSOR) {
        int st = tenon_take(r, TENON_WORK, v.bytes, &v.block);
        if (st)
            return st;
        v.u.data = tenon_address(r, v.block);
        v.read_only = 0;
        if (!r->dry)
            memcpy(v.u.data, a[0]->u.data, (size_t)v.bytes);
    } else {
        v = tenon_keep(r, a[0]);
    }
    tenon_set(r, to, v);
    return TENON_OK;
}

static TENON_UNUSED int
tenon_same(TENON_PACKED)
{
    TENON_NOTHING;
    tenon_set(r, to, tenon_keep(r, a[0]));
    return TENON_OK;
}

static TENON_UNUSED int
tenon_null_value(TENON_PACKED)
{
    TENON_NOTHING;
    tenon_drop(r, to);
    return TENON_OK;
}

static TENON_UNUSED int
tenon_read_if_cond(TENON_PACKED)
{
    int64_t t = 0;
    TENON_NOTHING;
    int st = lenient ? TENON_OK : tenon_truth(a[0], &t);
    if (st == TENON_OK)
        tenon_set(r, to, tenon_boxed(TV_BOOL, t));
    return st;
}

static TENON_UNUSED int
tenon_assert_op(TENON_PACKED)
{
    int64_t t = 1;
    TENON_NOTHING;
    int st = lenient ? TENON_OK : tenon_truth(a[0], &t);
    tenon_drop(r, to);
    return st ? st : t ? TENON_OK : TENON_INVALID;
}

static TENON_UNUSED int
tenon_tuple_getitem(TENON_PACKED)
{
    TENON_NOTHING;
    return tenon_get(r, to, a[0], a[1]->u.i);
}

static TENON_UNUSED int
tenon_tuple_reset_item(TENON_PACKED)
{
    TENON_NOTHING;
    if (a[0]->tag != TV_TUPLE || a[1]->u.i < 0 || a[1]->u.i >= a[0]->n)
        return TENON_BOUNDS;
    tenon_drop(r, &a[0]->u.items[a[1]->u.i]);
    return TENON_OK;
}

static TENON_UNUSED int
tenon_packed_make_tuple(TENON_PACKED)
{
    TENON_NOTHING;
    return tenon_make_tuple(r, to, a, n);
}

/* Optional arguments that are not given stand as null or as an empty tuple. */
static TENON_UNUSED int
tenon_create_view(TENON_PACKED)
{
    TENON_NOTHING;
    if (a[0]->tag != TV_TENSOR)
        return TENON_TYPE;
    tenon_value v = *a[0];
    if (n > 1 && a[1]->tag == TV_SHAPE) {
        v.ndim = a[1]->ndim;
        memcpy(v.dims, a[1]->dims, sizeof v.dims);
    }
    if (n > 2 && a[2]->tag == TV_DTYPE)
        v.dtype = a[2]->dtype;
    int64_t offset = n > 3 && a[3]->tag == TV_INT ? a[3]->u.i : 0;
    int st = tenon_sized(&v);
    if (st)
        return st;
    if (!lenient &&
        (offset < 0 || v.bytes > a[0]->bytes || (uint64_t)offset > a[0]->bytes - v.bytes))
        return TENON_BOUNDS;
    v.u.data += offset;
    tenon_set(r, to, tenon_keep(r, &v));
    return TENON_OK;
}

#endif
