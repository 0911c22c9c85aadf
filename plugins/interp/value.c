/* SPDX-License-Identifier: Apache-2.0 */
/* Values of graph functions: counted, and converted from and to leaf expressions. */
#include "interp.h"

#include <stdlib.h>

static interp_val *
no_memory(interp *vm)
{
    tn_error(vm->ctx, 0, TNB_NO_MEMORY, "no memory for a value");
    return NULL;
}

interp_val **
interp_room(interp *vm, size_t n, tn_loc loc)
{
    interp_val **v = calloc(n + 1, sizeof *v);
    if (!v)
        tn_error(vm->ctx, loc, TNB_NO_MEMORY, "no memory for %zu values", n);
    return v;
}

interp_val *
interp_val_new(interp *vm, interp_val_kind kind)
{
    interp_val *v = calloc(1, sizeof *v);
    if (!v)
        return no_memory(vm);
    v->refs = 1;
    v->kind = kind;
    return v;
}

interp_val *
interp_val_ref(interp_val *v)
{
    v->refs++;
    return v;
}

void
interp_val_unref(interp *vm, interp_val *v)
{
    if (!v || --v->refs)
        return;
    for (uint32_t i = 0; v->items && i < v->n + v->n_captured; i++)
        interp_val_unref(vm, v->items[i]);
    interp_mem_unref(vm, v->mem);
    free(v->items);
    free(v->shape);
    free(v);
}

static bool
set_shape(interp *vm, interp_val *v, int32_t n, const int64_t *dims)
{
    v->ndim = n;
    v->shape = malloc(((size_t)n + 1) * sizeof *dims);
    if (!v->shape)
        return no_memory(vm) != NULL;
    if (n)
        memcpy(v->shape, dims, (size_t)n * sizeof *dims);
    return true;
}

static bool
bytes_of(tnb_dtype d, int32_t ndim, const int64_t *shape, uint64_t *bytes)
{
    uint64_t n;
    tnb_err err;
    return tnb_shape_bytes(d, ndim, shape, &n, bytes, &err) == TNB_OK;
}

bool
interp_val_bytes(const interp_val *t, uint64_t *bytes)
{
    return bytes_of(t->dtype, t->ndim, t->shape, bytes);
}

interp_val *
interp_tensor_of(interp *vm, interp_mem *m, uint64_t offset, tnb_dtype d, int32_t ndim,
                 const int64_t *shape)
{
    interp_val *v = interp_val_new(vm, INTERP_V_TENSOR);
    if (!v)
        return NULL;
    interp_mem_ref(m);
    v->mem = m;
    v->offset = offset;
    v->dtype = d;
    if (!set_shape(vm, v, ndim, shape)) {
        interp_val_unref(vm, v);
        return NULL;
    }
    return v;
}

interp_val *
interp_tensor_new(interp *vm, tnb_dtype d, int32_t ndim, const int64_t *shape, tn_loc loc)
{
    uint64_t bytes;
    if (!bytes_of(d, ndim, shape, &bytes)) {
        tn_error(vm->ctx, loc, TNB_SHAPE, "a tensor has a negative or too large extent");
        return NULL;
    }
    interp_mem *m = interp_mem_new(vm, bytes, loc);
    interp_val *v = m ? interp_tensor_of(vm, m, 0, d, ndim, shape) : NULL;
    interp_mem_unref(vm, m);
    return v;
}

interp_val *
interp_shape_val(interp *vm, int32_t n, const int64_t *dims)
{
    interp_val *v = interp_val_new(vm, INTERP_V_SHAPE);
    if (v && !set_shape(vm, v, n, dims)) {
        interp_val_unref(vm, v);
        return NULL;
    }
    return v;
}

interp_val *
interp_int_val(interp *vm, int64_t i)
{
    interp_val *v = interp_val_new(vm, INTERP_V_SCALAR);
    if (v) {
        v->dtype = TNB_I64;
        v->scalar.i = i;
    }
    return v;
}

interp_val *
interp_tuple_val(interp *vm, interp_val *const *items, uint32_t n)
{
    interp_val *v = interp_val_new(vm, INTERP_V_TUPLE);
    interp_val **copy = v ? malloc(((size_t)n + 1) * sizeof *copy) : NULL;
    if (!copy) {
        for (uint32_t i = 0; i < n; i++)
            interp_val_unref(vm, items[i]);
        interp_val_unref(vm, v);
        return no_memory(vm);
    }
    for (uint32_t i = 0; i < n; i++)
        copy[i] = items[i];
    v->items = copy;
    v->n = n;
    return v;
}

/* ---- from expressions ---- */

static interp_val *
tensor_of_data(interp *vm, const tn_data *d, bool inplace)
{
    interp_mem *m = inplace ? NULL : (interp_mem *)tnb_ptrmap_get(&vm->constants, d);
    if (!m) {
        const void *bytes = tn_data_get(vm->ctx, d);
        if (!bytes && d->n_bytes)
            return NULL;
        /* the caller of a PrimFunc made its outputs to be written */
        m = interp_mem_borrow(vm, (void *)(uintptr_t)bytes, d->n_bytes, !inplace);
        if (!m)
            return NULL;
        if (!inplace)
            tnb_ptrmap_set(&vm->constants, d, m); /* the first reference is the table's */
    }
    interp_val *v = interp_tensor_of(vm, m, 0, d->dtype, d->ndim, d->shape);
    if (inplace)
        interp_mem_unref(vm, m);
    return v;
}

interp_val *
interp_val_of_expr(interp *vm, const tn_expr *e, bool inplace)
{
    interp_val *v;
    switch (e->kind) {
    case TN_KIND_CONSTANT:
        return tensor_of_data(vm, tn_as_constant(e)->data, inplace);
    case TN_KIND_INT_IMM:
    case TN_KIND_FLOAT_IMM:
        v = interp_val_new(vm, INTERP_V_SCALAR);
        if (v) {
            v->dtype = tn_dtype_of(e);
            if (e->kind == TN_KIND_INT_IMM)
                v->scalar.i = tn_as_int_imm(e)->value;
            else
                v->scalar = interp_reg_of_double(v->dtype, tn_as_float_imm(e)->value);
        }
        return v;
    case TN_KIND_STRING_IMM:
    case TN_KIND_EXTERN_FUNC:
        v = interp_val_new(vm, e->kind == TN_KIND_STRING_IMM ? INTERP_V_STR : INTERP_V_EXTERN);
        if (v) {
            v->node = e;
            v->name = e->kind == TN_KIND_STRING_IMM ? tn_as_string_imm(e)->value
                                                    : tn_as_extern_func(e)->name;
        }
        return v;
    case TN_KIND_DTYPE_IMM:
        v = interp_val_new(vm, INTERP_V_DTYPE);
        if (v)
            v->dtype = tn_as_dtype_imm(e)->value;
        return v;
    case TN_KIND_SHAPE_EXPR: {
        tn_list l = tn_as_shape_expr(e)->values;
        int64_t *dims = TNB_NEW_N(vm->arena, int64_t, l.n + 1);
        for (uint32_t i = 0; i < l.n; i++) {
            if (!tn_int_value(l.at[i], &dims[i])) {
                tn_error(vm->ctx, e->loc, TNB_INVALID,
                         "a shape given as a value must consist of literals");
                return NULL;
            }
        }
        return interp_shape_val(vm, (int32_t)l.n, dims);
    }
    case TN_KIND_TUPLE: {
        tn_list l = tn_as_tuple(e)->fields;
        interp_val **items = TNB_NEW_N(vm->arena, interp_val *, l.n + 1);
        for (uint32_t i = 0; i < l.n; i++) {
            if (!(items[i] = interp_val_of_expr(vm, l.at[i], inplace))) {
                while (i--)
                    interp_val_unref(vm, items[i]);
                return NULL;
            }
        }
        return interp_tuple_val(vm, items, l.n);
    }
    default:
        v = interp_val_new(vm, INTERP_V_OTHER);
        if (v)
            v->node = e;
        return v;
    }
}

/* ---- to expressions ---- */

const tn_expr *
interp_expr_of_val(interp *vm, const interp_val *v)
{
    tn_ctx *ctx = vm->ctx;
    switch (v->kind) {
    case INTERP_V_TENSOR: {
        void *bytes;
        const tn_data *d = tn_data_new(ctx, v->dtype, v->ndim, v->shape, &bytes);
        if (!d)
            return NULL;
        if (d->n_bytes)
            memcpy(bytes, v->mem->bytes + v->offset, d->n_bytes);
        return tn_constant_of(ctx, d);
    }
    case INTERP_V_SCALAR:
        if (interp_class_of(v->dtype) == INTERP_INT)
            return tn_int_imm_of(ctx, v->dtype, v->scalar.i);
        return tn_float_imm_of(ctx, v->dtype, interp_reg_to_double(v->dtype, v->scalar));
    case INTERP_V_SHAPE: {
        const tn_node **at = TNB_NEW_N(vm->arena, const tn_node *, v->ndim + 1);
        for (int32_t i = 0; i < v->ndim; i++)
            at[i] = tn_i64(ctx, v->shape[i]);
        return tn_shape_expr_of(ctx, tn_list_of(ctx, at, (uint32_t)v->ndim));
    }
    case INTERP_V_TUPLE: {
        const tn_node **at = TNB_NEW_N(vm->arena, const tn_node *, v->n + 1);
        for (uint32_t i = 0; i < v->n; i++)
            if (!(at[i] = interp_expr_of_val(vm, v->items[i])))
                return NULL;
        return tn_tuple_of(ctx, tn_list_of(ctx, at, v->n));
    }
    case INTERP_V_STR:
        return tn_string(ctx, v->name);
    case INTERP_V_DTYPE:
        return tn_dtype_imm_of(ctx, v->dtype);
    case INTERP_V_OTHER:
        return v->node;
    case INTERP_V_NULL:
        return tn_tuple_of(ctx, (tn_list){NULL, 0});
    default:
        tn_error(ctx, 0, TNB_UNSUPPORTED, "the result is %s, which cannot be handed out",
                 interp_describe(vm, v));
        return NULL;
    }
}

const char *
interp_describe(interp *vm, const interp_val *v)
{
    static const char *const names[] = {"tensor",  "shape", "scalar",     "string",
                                        "dtype",   "tuple", "a function", "an external function",
                                        "storage", "null",  "a value"};
    tnb_arena *a = tn_scratch(vm->ctx);
    if (!v)
        return "nothing";
    if (v->kind == INTERP_V_SCALAR || v->kind == INTERP_V_DTYPE)
        return tnb_printf(a, "%s %s", names[v->kind], tnb_dtype_print(v->dtype).s);
    if (v->kind == INTERP_V_TUPLE)
        return tnb_printf(a, "tuple of %u", v->n);
    if (v->kind != INTERP_V_TENSOR && v->kind != INTERP_V_SHAPE)
        return names[v->kind];
    tnb_buf b = {0};
    tnb_buf_printf(&b, "%s %s[", names[v->kind],
                   v->kind == INTERP_V_TENSOR ? tnb_dtype_print(v->dtype).s : "");
    for (int32_t i = 0; i < v->ndim; i++)
        tnb_buf_printf(&b, "%s%lld", i ? ", " : "", (long long)v->shape[i]);
    tnb_buf_puts(&b, "]");
    const char *s = tnb_strdup(a, b.s ? b.s : "tensor");
    tnb_buf_free(&b);
    return s;
}
