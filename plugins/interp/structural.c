/* SPDX-License-Identifier: Apache-2.0 */
/* The structural operators: calls of tensor programs and packed functions, memory, shapes,
 * closures. */
#include "interp.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct op_call {
    interp *vm;
    interp_env *env;
    const tn_call *c;
    interp_val **v; /* evaluated arguments */
    uint32_t n;
} op_call;

static interp_val *
wrong(op_call *o, uint32_t i, const char *wanted)
{
    tn_error(o->vm->ctx, o->c->base.loc, TNB_TYPE, "%s: %s: argument %u is %s, expected %s",
             o->env->func, tn_call_op_of(o->c)->base.name, i,
             interp_describe(o->vm, i < o->n ? o->v[i] : NULL), wanted);
    return NULL;
}

static interp_val *
void_val(interp *vm)
{
    return interp_tuple_val(vm, NULL, 0);
}

/* ---- calls ---- */

static const tn_type *
out_type(op_call *o)
{
    return o->c->ty_args.n ? o->c->ty_args.at[0] : o->c->base.type;
}

/* Inputs, outputs, then scalars of old text in one list; references borrowed. */
static interp_val **
dps_args(op_call *o, const interp_val *ins, interp_val *outs, uint32_t *n)
{
    bool many = outs->kind == INTERP_V_TUPLE;
    uint32_t n_out = many ? outs->n : 1, k = 0;
    interp_val **a = TNB_NEW_N(o->env->arena, interp_val *, ins->n + n_out + 1);
    for (uint32_t i = 0; i < ins->n; i++)
        a[k++] = ins->items[i];
    for (uint32_t i = 0; i < n_out; i++)
        a[k++] = many ? outs->items[i] : outs;
    if (o->n > 2 && o->v[2]->kind == INTERP_V_SHAPE)
        a[k++] = o->v[2];
    *n = k;
    return a;
}

bool
interp_copy_into(interp *vm, const interp_env *env, const tn_call *c, interp_val *dst,
                 const interp_val *src)
{
    if (dst->kind == INTERP_V_TUPLE && src->kind == INTERP_V_TUPLE && dst->n == src->n) {
        for (uint32_t i = 0; i < dst->n; i++)
            if (!interp_copy_into(vm, env, c, dst->items[i], src->items[i]))
                return false;
        return true;
    }
    uint64_t x, y;
    if (dst->kind != INTERP_V_TENSOR || src->kind != INTERP_V_TENSOR ||
        !interp_val_bytes(dst, &x) || !interp_val_bytes(src, &y) || x != y ||
        !tnb_dtype_eq(dst->dtype, src->dtype)) {
        tn_error(vm->ctx, c->base.loc, TNB_SHAPE,
                 "%s: the function called gives %s, but the call says %s", env->func,
                 interp_describe(vm, src), interp_describe(vm, dst));
        return false;
    }
    memcpy(dst->mem->bytes + dst->offset, src->mem->bytes + src->offset, x);
    interp_mem_written(dst->mem);
    return true;
}

static interp_val *
run_dps(op_call *o, interp_val *outs)
{
    interp *vm = o->vm;
    uint32_t n;
    interp_val *f = o->v[0], *r = NULL;
    if (o->v[1]->kind != INTERP_V_TUPLE) { /* a lone argument */
        interp_val *one = o->v[1];
        o->v[1] = interp_tuple_val(vm, &one, 1);
        if (!o->v[1])
            return NULL;
    }
    interp_val **a = dps_args(o, o->v[1], outs, &n);
    if (f->kind == INTERP_V_FUNC && tn_is(f->node, TN_KIND_PRIM_FUNC)) {
        if (!interp_call_prim(vm, f->name, tn_as_prim_func(f->node), a, n, NULL, o->c->base.loc))
            return NULL;
        return interp_val_ref(outs);
    }
    const tn_node *meaning = f->kind == INTERP_V_EXTERN ? tn_module_get(o->env->m, f->name)
                             : f->kind == INTERP_V_FUNC ? f->node
                                                        : NULL;
    if (tn_is(meaning, TN_KIND_PRIM_FUNC))
        return interp_call_prim(vm, f->name, tn_as_prim_func(meaning), a, n, NULL, o->c->base.loc)
                   ? interp_val_ref(outs)
                   : NULL;
    if (tn_is(meaning, TN_KIND_FUNCTION)) {
        r = interp_call_func(vm, o->env->m, f->name, meaning, o->v[1]->items, o->v[1]->n, NULL,
                             o->c->base.loc);
        bool ok = r && interp_copy_into(vm, o->env, o->c, outs, r);
        interp_val_unref(vm, r);
        return ok ? interp_val_ref(outs) : NULL;
    }
    if (f->kind != INTERP_V_EXTERN)
        return wrong(o, 0, "a function");
    r = interp_builtin(vm, o->env, f->name, a, n, o->c);
    interp_val_unref(vm, r);
    return r ? interp_val_ref(outs) : NULL;
}

static interp_val *
call_tir(op_call *o)
{
    interp_val *outs = interp_alloc_of_type(o->vm, o->env, out_type(o), o->c->base.loc);
    interp_val *r = outs ? run_dps(o, outs) : NULL;
    interp_val_unref(o->vm, outs);
    return r;
}

static interp_val *
fresh_copy(op_call *o, const interp_val *v)
{
    uint64_t bytes;
    interp_val *r = interp_tensor_new(o->vm, v->dtype, v->ndim, v->shape, o->c->base.loc);
    if (r && interp_val_bytes(v, &bytes)) {
        memcpy(r->mem->bytes, v->mem->bytes + v->offset, bytes);
        interp_mem_written(r->mem);
    }
    return r;
}

static interp_val *
call_tir_inplace(op_call *o)
{
    int64_t index[64];
    int n = tn_call_ints(o->c, "inplace_indices", index, 64);
    const tn_type *t = out_type(o);
    bool many = tn_is(t, TN_KIND_TY_TUPLE);
    uint32_t n_out = many ? tn_as_ty_tuple(t)->fields.n : 1, n_in;
    if (n < 0 || (uint32_t)n != n_out || o->v[1]->kind != INTERP_V_TUPLE || n_out > 64)
        return wrong(o, 1, "a tuple that inplace_indices fits");
    interp_val *in = o->v[1], *outs[64],
               **a = TNB_NEW_N(o->env->arena, interp_val *, in->n + n_out + 1);
    for (n_in = 0; n_in < in->n; n_in++)
        a[n_in] = in->items[n_in];
    bool ok = true;
    uint32_t k = n_in, made = 0;
    for (; ok && made < n_out; made++) {
        const tn_type *one = many ? tn_as_ty_tuple(t)->fields.at[made] : t;
        int64_t i = index[made];
        if (i >= (int64_t)in->n) {
            wrong(o, 1, "a longer tuple");
            outs[made] = NULL;
        } else if (i < 0) {
            outs[made] = a[k++] = interp_alloc_of_type(o->vm, o->env, one, o->c->base.loc);
        } else if (in->items[i]->kind == INTERP_V_TENSOR && in->items[i]->mem->readonly) {
            outs[made] = a[i] = fresh_copy(o, in->items[i]); /* constants stay as they are */
        } else {
            outs[made] = interp_val_ref(in->items[i]);
        }
        ok = outs[made] != NULL;
    }
    if (ok && o->n > 2 && o->v[2]->kind == INTERP_V_SHAPE)
        a[k++] = o->v[2];
    const interp_val *f = o->v[0];
    if (ok && (f->kind != INTERP_V_FUNC || !tn_is(f->node, TN_KIND_PRIM_FUNC)))
        ok = wrong(o, 0, "a tensor program") != NULL;
    ok = ok &&
         interp_call_prim(o->vm, f->name, tn_as_prim_func(f->node), a, k, NULL, o->c->base.loc);
    if (!ok) {
        for (uint32_t i = 0; i < made; i++)
            interp_val_unref(o->vm, outs[i]);
        return NULL;
    }
    return many ? interp_tuple_val(o->vm, outs, n_out) : outs[0];
}

static interp_val *
call_packed(op_call *o)
{
    if (o->n == 0)
        return wrong(o, 0, "a function");
    if (o->v[0]->kind == INTERP_V_FUNC)
        return interp_call_val(o->vm, o->v[0], o->v + 1, o->n - 1, o->c->base.loc);
    if (o->v[0]->kind != INTERP_V_EXTERN)
        return wrong(o, 0, "a function");
    return interp_builtin(o->vm, o->env, o->v[0]->name, o->v + 1, o->n - 1, o->c);
}

static interp_val *
call_with_ctx(op_call *o)
{
    if (o->n < 2 || o->v[0]->kind != INTERP_V_EXTERN || o->v[1]->kind != INTERP_V_TUPLE)
        return wrong(o, 0, "an external function and a tuple");
    return interp_builtin(o->vm, o->env, o->v[0]->name, o->v[1]->items, o->v[1]->n, o->c);
}

static interp_val *
make_closure(op_call *o)
{
    interp_val *args[65] = {o->v[0]};
    if (o->v[1]->kind != INTERP_V_TUPLE || o->v[1]->n > 64)
        return wrong(o, 1, "a tuple");
    for (uint32_t i = 0; i < o->v[1]->n; i++)
        args[1 + i] = o->v[1]->items[i];
    return interp_builtin(o->vm, o->env, "vm.builtin.make_closure", args, 1 + o->v[1]->n, o->c);
}

static interp_val *
invoke_closure(op_call *o)
{
    if (o->v[1]->kind != INTERP_V_TUPLE)
        return wrong(o, 1, "a tuple");
    return interp_call_val(o->vm, o->v[0], o->v[1]->items, o->v[1]->n, o->c->base.loc);
}

static interp_val *
call_tir_dyn(op_call *o)
{
    if (o->v[0]->kind != INTERP_V_FUNC || o->v[1]->kind != INTERP_V_TUPLE)
        return wrong(o, 0, "a function and a tuple");
    return interp_call_val(o->vm, o->v[0], o->v[1]->items, o->v[1]->n, o->c->base.loc);
}

/* ---- memory ---- */

static interp_val *
alloc_tensor(op_call *o)
{
    if (o->v[0]->kind != INTERP_V_SHAPE || o->v[1]->kind != INTERP_V_DTYPE)
        return wrong(o, 0, "a shape and a dtype");
    return interp_tensor_new(o->vm, o->v[1]->dtype, o->v[0]->ndim, o->v[0]->shape, o->c->base.loc);
}

static interp_val *
alloc_storage(op_call *o)
{
    uint64_t bytes;
    if (o->v[0]->kind != INTERP_V_SHAPE)
        return wrong(o, 0, "a shape");
    if (!tnb_shape_count(o->v[0]->ndim, o->v[0]->shape, &bytes))
        return wrong(o, 0, "a size");
    interp_val *v = interp_val_new(o->vm, INTERP_V_STORAGE);
    if (v && !(v->mem = interp_mem_new(o->vm, bytes, o->c->base.loc))) {
        interp_val_unref(o->vm, v);
        return NULL;
    }
    return v;
}

static interp_val *
storage_tensor(op_call *o)
{
    if (o->v[0]->kind != INTERP_V_STORAGE || o->v[1]->kind != INTERP_V_SCALAR ||
        o->v[2]->kind != INTERP_V_SHAPE || o->v[3]->kind != INTERP_V_DTYPE)
        return wrong(o, 0, "a storage, an offset, a shape and a dtype");
    interp_mem *m = o->v[0]->mem;
    uint64_t offset = (uint64_t)o->v[1]->scalar.i, bytes;
    interp_val *t =
        interp_tensor_of(o->vm, m, offset, o->v[3]->dtype, o->v[2]->ndim, o->v[2]->shape);
    if (!t)
        return NULL;
    if (!interp_val_bytes(t, &bytes) || offset > m->size || bytes > m->size - offset) {
        tn_error(o->vm->ctx, o->c->base.loc, TNB_BOUNDS,
                 "%s: %s at offset %llu does not fit into a storage of %llu bytes", o->env->func,
                 interp_describe(o->vm, t), (unsigned long long)offset,
                 (unsigned long long)m->size);
        interp_val_unref(o->vm, t);
        return NULL;
    }
    /* fresh: what an earlier tensor left there does not count as written */
    for (uint64_t i = offset; m->shadow && i < offset + bytes;) {
        if (i % 8 == 0 && i + 8 <= offset + bytes) {
            m->shadow[i / 8] = 0;
            i += 8;
        } else {
            m->shadow[i / 8] &= (uint8_t) ~(1u << (i % 8));
            i++;
        }
    }
    return t;
}

static interp_val *
view(op_call *o)
{
    const interp_val *x = o->v[0], *s = o->n > 1 ? o->v[1] : NULL, *d = o->n > 2 ? o->v[2] : NULL,
                     *at = o->n > 3 ? o->v[3] : NULL;
    if (x->kind != INTERP_V_TENSOR)
        return wrong(o, 0, "a tensor");
    bool has_shape = s && s->kind == INTERP_V_SHAPE;
    interp_val *t =
        interp_tensor_of(o->vm, x->mem,
                         x->offset + (at && at->kind == INTERP_V_SCALAR ? at->scalar.u : 0),
                         d && d->kind == INTERP_V_DTYPE ? d->dtype : x->dtype,
                         has_shape ? s->ndim : x->ndim, has_shape ? s->shape : x->shape);
    uint64_t bytes;
    if (t && (!interp_val_bytes(t, &bytes) || t->offset > x->mem->size ||
              bytes > x->mem->size - t->offset)) {
        interp_val_unref(o->vm, t);
        return wrong(o, 0, "a tensor that the view fits into");
    }
    return t;
}

/* ---- shapes and the rest ---- */

static interp_val *
shape_to_tensor(op_call *o)
{
    if (o->v[0]->kind != INTERP_V_SHAPE)
        return wrong(o, 0, "a shape");
    int64_t n = o->v[0]->ndim;
    interp_val *t = interp_tensor_new(o->vm, TNB_I64, 1, &n, o->c->base.loc);
    if (t) {
        memcpy(t->mem->bytes, o->v[0]->shape, (size_t)n * 8);
        interp_mem_written(t->mem);
    }
    return t;
}

static interp_val *
by_builtin(op_call *o, const char *name)
{
    return interp_builtin(o->vm, o->env, name, o->v, o->n, o->c);
}

static interp_val *
shape_of(op_call *o)
{
    return by_builtin(o, "vm.builtin.shape_of");
}

static interp_val *
tensor_to_shape(op_call *o)
{
    return by_builtin(o, "vm.builtin.tensor_to_shape");
}

static interp_val *
identity(op_call *o)
{
    return interp_val_ref(o->v[0]);
}

static interp_val *
nothing(op_call *o)
{
    return void_val(o->vm);
}

static interp_val *
null_value(op_call *o)
{
    return interp_val_new(o->vm, INTERP_V_NULL);
}

static interp_val *
wrap_param(op_call *o)
{
    const interp_val *x = o->v[0];
    tnb_dtype d = tn_call_dtype(o->c, "dtype");
    if (x->kind != INTERP_V_TENSOR)
        return wrong(o, 0, "a tensor");
    if (tnb_dtype_eq(d, x->dtype))
        return identity(o);
    interp_val *t = interp_tensor_new(o->vm, d, x->ndim, x->shape, o->c->base.loc);
    uint64_t n = 0;
    if (t && !tnb_shape_count(x->ndim, x->shape, &n))
        return wrong(o, 0, "a tensor"); /* cannot be: it was made */
    for (uint64_t i = 0; t && i < n; i++) {
        const void *from = x->mem->bytes + x->offset;
        double f = 0;
        int64_t k = 0;
        if (interp_class_of(d) == INTERP_INT && interp_class_of(x->dtype) == INTERP_INT) {
            tnb_load_i64(from, x->dtype, i, &k);
            tnb_store_i64(t->mem->bytes, d, i, k);
        } else {
            tnb_load_f64(from, x->dtype, i, &f);
            tnb_store_f64(t->mem->bytes, d, i, f);
        }
    }
    if (t)
        interp_mem_written(t->mem);
    return t;
}

interp_val *
interp_assertion_failed(interp *vm, interp_env *env, const tn_call *c, const char *format,
                        interp_val *const *values, uint32_t n)
{
    const char **texts = TNB_NEW_N(tn_scratch(vm->ctx), const char *, n + 1);
    char message[1024];
    for (uint32_t i = 0; i < n; i++)
        texts[i] = values[i]->kind == INTERP_V_SCALAR && !tnb_dtype_is_float(values[i]->dtype)
                       ? tn_strf(vm->ctx, "%lld", (long long)values[i]->scalar.i)
                       : interp_describe(vm, values[i]);
    tnb_fill_braces(message, sizeof message, format, texts, n);
    tn_error(vm->ctx, c->base.loc, TNB_INVALID, "%s: assertion failed%s%s", env->func,
             *message ? ": " : "", message);
    return NULL;
}

static interp_val *
assert_op(op_call *o)
{
    const interp_val *v = o->v[0];
    int64_t i = 0;
    if (v->kind == INTERP_V_SCALAR)
        i = v->scalar.i;
    else if (v->kind != INTERP_V_TENSOR ||
             !tnb_load_i64(v->mem->bytes + v->offset, v->dtype, 0, &i))
        return wrong(o, 0, "a scalar bool");
    if (i)
        return void_val(o->vm);
    const char *format = tn_call_str(o->c, "format");
    return interp_assertion_failed(o->vm, o->env, o->c, format ? format : "", o->v + 1, o->n - 1);
}

static interp_val *
print(op_call *o)
{
    for (uint32_t i = 0; i < o->n; i++)
        fprintf(stderr, "%s%s", i ? ", " : "", interp_describe(o->vm, o->v[i]));
    fputc('\n', stderr);
    return void_val(o->vm);
}

/* ---- the table ---- */

static const struct op_row {
    uint32_t min_args;
    interp_val *(*run)(op_call *o);
} rows[TN_STRUCTURAL_COUNT] = {
    [TN_STRUCTURAL_call_tir] = {2, call_tir},
    [TN_STRUCTURAL_call_tir_with_grad] = {2, call_tir},
    [TN_STRUCTURAL_call_tir_inplace] = {2, call_tir_inplace},
    [TN_STRUCTURAL_call_dps_packed] = {2, call_tir},
    [TN_STRUCTURAL_call_pure_packed] = {1, call_packed},
    [TN_STRUCTURAL_call_inplace_packed] = {1, call_packed},
    [TN_STRUCTURAL_call_builtin_with_ctx] = {2, call_with_ctx},
    [TN_STRUCTURAL_make_closure] = {2, make_closure},
    [TN_STRUCTURAL_invoke_closure] = {2, invoke_closure},
    [TN_STRUCTURAL_invoke_pure_closure] = {2, invoke_closure},
    [TN_STRUCTURAL_null_value] = {0, null_value},
    [TN_STRUCTURAL_shape_of] = {1, shape_of},
    [TN_STRUCTURAL_tensor_to_shape] = {1, tensor_to_shape},
    [TN_STRUCTURAL_to_vdevice] = {1, identity},
    [TN_STRUCTURAL_hint_on_device] = {1, identity},
    [TN_STRUCTURAL_assert_op] = {1, assert_op},
    [TN_STRUCTURAL_print] = {0, print},
    [TN_STRUCTURAL_wrap_param] = {1, wrap_param},
    [TN_STRUCTURAL_builtin_stop_lift_params] = {1, identity},
    [TN_STRUCTURAL_builtin_alloc_tensor] = {2, alloc_tensor},
    [TN_STRUCTURAL_memory_alloc_storage] = {1, alloc_storage},
    [TN_STRUCTURAL_memory_alloc_tensor] = {4, storage_tensor},
    [TN_STRUCTURAL_memory_kill_tensor] = {1, nothing},
    [TN_STRUCTURAL_memory_kill_storage] = {1, nothing},
    [TN_STRUCTURAL_memory_view] = {1, view},
    [TN_STRUCTURAL_memory_ensure_zero_offset] = {1, identity},
    [TN_STRUCTURAL_vm_alloc_storage] = {1, alloc_storage},
    [TN_STRUCTURAL_vm_alloc_tensor] = {4, storage_tensor},
    [TN_STRUCTURAL_vm_kill_object] = {1, nothing},
    [TN_STRUCTURAL_vm_call_tir_dyn] = {2, call_tir_dyn},
};

interp_val *
interp_structural(interp *vm, interp_env *env, const tn_call *c, const tn_op *op, bool *handled)
{
    static const struct op_row reads_shape = {1, shape_to_tensor};
    const struct op_row *row = &rows[op->structural];
    if (tn_is_call_to(&c->base, "relax.shape_to_tensor"))
        row = &reads_shape;
    *handled = row->run != NULL;
    if (!*handled)
        return NULL;
    op_call o = {vm, env, c, interp_room(vm, c->args.n, c->base.loc), 0};
    interp_val *r = NULL;
    bool ok = o.v != NULL && c->args.n >= row->min_args;
    if (o.v && !ok)
        tn_error(vm->ctx, c->base.loc, TNB_INVALID, "%s: %s has too few arguments", env->func,
                 op->base.name);
    for (; ok && o.n < c->args.n; o.n++)
        if (!(o.v[o.n] = interp_eval_expr(vm, env, c->args.at[o.n])))
            ok = false;
    if (ok)
        r = row->run(&o);
    for (uint32_t i = 0; o.v && i < c->args.n; i++)
        interp_val_unref(vm, o.v[i]);
    free(o.v);
    return r;
}
