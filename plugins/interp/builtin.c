/* SPDX-License-Identifier: Apache-2.0 */
/* Packed functions that finalized modules call: vm.builtin.*. */
#include "interp.h"
#include "tenon/core/eval.h"
#include "tenon/core/text.h"

#include <stdlib.h>
#include <string.h>

typedef struct builtin_call {
    interp *vm;
    interp_env *env;
    const char *name;
    interp_val *const *v;
    uint32_t n;
    const tn_call *c;
} builtin_call;

static interp_val *
wrong(const builtin_call *b, uint32_t i, const char *wanted)
{
    tn_error(b->vm->ctx, b->c->base.loc, TNB_TYPE, "%s: %s: argument %u is %s, expected %s",
             b->env->func, b->name, i, interp_describe(b->vm, i < b->n ? b->v[i] : NULL), wanted);
    return NULL;
}

static bool
is(const builtin_call *b, uint32_t i, interp_val_kind k)
{
    return i < b->n && b->v[i]->kind == (uint32_t)k;
}

static interp_val *
done(const builtin_call *b)
{
    return interp_tuple_val(b->vm, NULL, 0);
}

/* The text that the caller gave for a failed check, or ours. */
static interp_val *
check_failed(const builtin_call *b, const char *what)
{
    const interp_val *last = b->n ? b->v[b->n - 1] : NULL;
    const char *text = last && last->kind == INTERP_V_STR ? last->name : "";
    tn_error(b->vm->ctx, b->c->base.loc, TNB_SHAPE, "%s: %s%s%s", b->env->func, text,
             *text ? ": " : "", what);
    return NULL;
}

/* ---- the heap of symbolic values ---- */

static interp_val *
alloc_shape_heap(const builtin_call *b)
{
    if (!is(b, 0, INTERP_V_SCALAR))
        return wrong(b, 0, "an integer");
    int64_t n = b->v[0]->scalar.i;
    return interp_tensor_new(b->vm, TNB_I64, 1, &n, b->c->base.loc);
}

static int64_t *
slot(const builtin_call *b, const interp_val *heap, int64_t i)
{
    if (heap->kind != INTERP_V_TENSOR || heap->ndim != 1 || i < 0 || i >= heap->shape[0] ||
        !tnb_dtype_eq(heap->dtype, TNB_I64)) {
        wrong(b, 1, "a shape heap with the slot asked for");
        return NULL;
    }
    if (heap->mem->shadow)
        memset(heap->mem->shadow + (heap->offset / 8 + (uint64_t)i), 0xff,
               1); /* bytes of one slot: eight bits */
    return (int64_t *)(void *)(heap->mem->bytes + heap->offset) + i;
}

/* code 0: equal to the number; 1: store into the slot; 2: nothing; 3: equal to the slot */
static bool
match_one(const builtin_call *b, const interp_val *heap, int64_t code, int64_t arg, int64_t value,
          int dim)
{
    int64_t *s = code == 1 || code == 3 ? slot(b, heap, arg) : NULL;
    if ((code == 1 || code == 3) && !s)
        return false;
    if (code == 1)
        *s = value;
    int64_t want = code == 0 ? arg : code == 3 ? *s : value;
    if (want == value)
        return true;
    check_failed(b, tnb_printf(tn_scratch(b->vm->ctx), "dimension %d is %lld, expected %lld", dim,
                               (long long)value, (long long)want));
    return false;
}

static interp_val *
match_shape(const builtin_call *b)
{
    const interp_val *x = b->n ? b->v[0] : NULL;
    if (!x || (x->kind != INTERP_V_TENSOR && x->kind != INTERP_V_SHAPE) ||
        !is(b, 2, INTERP_V_SCALAR))
        return wrong(b, 0, "a tensor or shape");
    int64_t n = b->v[2]->scalar.i;
    if (n != x->ndim)
        return check_failed(b, tnb_printf(tn_scratch(b->vm->ctx), "rank is %d, expected %lld",
                                          x->ndim, (long long)n));
    for (int64_t i = 0; i < n; i++) {
        uint32_t at = 3 + 2 * (uint32_t)i;
        if (!is(b, at, INTERP_V_SCALAR) || !is(b, at + 1, INTERP_V_SCALAR))
            return wrong(b, at, "a code and a number");
        if (!match_one(b, b->v[1], b->v[at]->scalar.i, b->v[at + 1]->scalar.i, x->shape[i], (int)i))
            return NULL;
    }
    return done(b);
}

static interp_val *
match_prim_value(const builtin_call *b)
{
    for (uint32_t i = 0; i < 4; i++)
        if (i != 1 && !is(b, i, INTERP_V_SCALAR))
            return wrong(b, i, "a scalar");
    return match_one(b, b->v[1], b->v[2]->scalar.i, b->v[3]->scalar.i, b->v[0]->scalar.i, 0)
               ? done(b)
               : NULL;
}

/* code 0: the number; 1: from the slot */
static bool
made(const builtin_call *b, uint32_t at, const interp_val *heap, int64_t *out)
{
    if (!is(b, at, INTERP_V_SCALAR) || !is(b, at + 1, INTERP_V_SCALAR))
        return wrong(b, at, "a code and a number") != NULL;
    *out = b->v[at + 1]->scalar.i;
    if (b->v[at]->scalar.i == 0)
        return true;
    const int64_t *s = slot(b, heap, *out);
    if (s)
        *out = *s;
    return s != NULL;
}

static interp_val *
make_shape(const builtin_call *b)
{
    int64_t dims[64];
    if (!is(b, 1, INTERP_V_SCALAR) || b->v[1]->scalar.i < 0 || b->v[1]->scalar.i > 64)
        return wrong(b, 1, "a rank");
    int64_t n = b->v[1]->scalar.i;
    for (int64_t i = 0; i < n; i++)
        if (!made(b, 2 + 2 * (uint32_t)i, b->v[0], &dims[i]))
            return NULL;
    return interp_shape_val(b->vm, (int32_t)n, dims);
}

static interp_val *
make_prim_value(const builtin_call *b)
{
    int64_t v;
    return b->n >= 3 && made(b, 1, b->v[0], &v) ? interp_int_val(b->vm, v) : NULL;
}

/* ---- checks ---- */

static interp_val *
check_tensor_info(const builtin_call *b)
{
    if (!is(b, 0, INTERP_V_TENSOR))
        return check_failed(b, "expected a tensor");
    if (is(b, 1, INTERP_V_SCALAR) && b->v[1]->scalar.i >= 0 && b->v[1]->scalar.i != b->v[0]->ndim)
        return check_failed(b, tnb_printf(tn_scratch(b->vm->ctx), "rank is %d, expected %lld",
                                          b->v[0]->ndim, (long long)b->v[1]->scalar.i));
    if (is(b, 2, INTERP_V_DTYPE) && !tnb_dtype_is_void(b->v[2]->dtype) &&
        !tnb_dtype_eq(b->v[2]->dtype, b->v[0]->dtype))
        return check_failed(b, tnb_printf(tn_scratch(b->vm->ctx), "dtype is %s, expected %s",
                                          tnb_dtype_print(b->v[0]->dtype).s,
                                          tnb_dtype_print(b->v[2]->dtype).s));
    return done(b);
}

static interp_val *
check_shape_info(const builtin_call *b)
{
    if (!is(b, 0, INTERP_V_SHAPE))
        return check_failed(b, "expected a shape");
    if (is(b, 1, INTERP_V_SCALAR) && b->v[1]->scalar.i >= 0 && b->v[1]->scalar.i != b->v[0]->ndim)
        return check_failed(b, "the shape has another rank");
    return done(b);
}

static interp_val *
check_prim_value_info(const builtin_call *b)
{
    return is(b, 0, INTERP_V_SCALAR) ? done(b) : check_failed(b, "expected a scalar");
}

static interp_val *
check_tuple_info(const builtin_call *b)
{
    bool ok = is(b, 0, INTERP_V_TUPLE) && is(b, 1, INTERP_V_SCALAR) &&
              b->v[1]->scalar.i == (int64_t)b->v[0]->n;
    return ok ? done(b) : check_failed(b, "expected a tuple of another length");
}

static interp_val *
check_func_info(const builtin_call *b)
{
    bool ok = is(b, 0, INTERP_V_FUNC) || is(b, 0, INTERP_V_EXTERN);
    return ok ? done(b) : check_failed(b, "expected a function");
}

/* ---- tensors and shapes ---- */

static interp_val *
shape_of(const builtin_call *b)
{
    return is(b, 0, INTERP_V_TENSOR) ? interp_shape_val(b->vm, b->v[0]->ndim, b->v[0]->shape)
                                     : wrong(b, 0, "a tensor");
}

static interp_val *
reshape(const builtin_call *b)
{
    uint64_t x, y;
    if (!is(b, 0, INTERP_V_TENSOR) || !is(b, 1, INTERP_V_SHAPE))
        return wrong(b, 0, "a tensor and a shape");
    interp_val *t = interp_tensor_of(b->vm, b->v[0]->mem, b->v[0]->offset, b->v[0]->dtype,
                                     b->v[1]->ndim, b->v[1]->shape);
    if (t && (!interp_val_bytes(t, &x) || !interp_val_bytes(b->v[0], &y) || x != y)) {
        interp_val_unref(b->vm, t);
        return wrong(b, 1, "a shape with as many elements");
    }
    return t;
}

static interp_val *
tensor_to_shape(const builtin_call *b)
{
    int64_t dims[64];
    const interp_val *t = b->n ? b->v[0] : NULL;
    if (!is(b, 0, INTERP_V_TENSOR) || t->ndim != 1 || t->shape[0] > 64)
        return wrong(b, 0, "a tensor of one dimension");
    for (int64_t i = 0; i < t->shape[0]; i++)
        if (!tnb_load_i64(t->mem->bytes + t->offset, t->dtype, (uint64_t)i, &dims[i]))
            return wrong(b, 0, "an integer tensor");
    return interp_shape_val(b->vm, (int32_t)t->shape[0], dims);
}

/* "{2}" in a text stands for entry 2 of the shape. */
static const char *
filled_in(const builtin_call *b, const char *text, const interp_val *s)
{
    const char *out = "";
    while (*text) {
        char *end = NULL;
        size_t plain = strcspn(text + 1, "{") + 1;
        long i = *text == '{' ? strtol(text + 1, &end, 10) : -1;
        if (i < 0 || i >= s->ndim || end == text + 1 || *end != '}') {
            out = tn_strf(b->vm->ctx, "%s%.*s", out, (int)plain, text);
            text += plain;
            continue;
        }
        out = tn_strf(b->vm->ctx, "%s%lld", out, (long long)s->shape[i]);
        text = end + 1;
    }
    return out;
}

/* (shape, k, text): the last k entries of the shape, if entry 0 is not 0; else the text is the error. */
static interp_val *
checked_shape(const builtin_call *b)
{
    if (!is(b, 0, INTERP_V_SHAPE) || !is(b, 1, INTERP_V_SCALAR) || !is(b, 2, INTERP_V_STR))
        return wrong(b, 0, "a shape, a number and a text");
    const interp_val *s = b->v[0];
    int64_t k = b->v[1]->scalar.i;
    if (k < 0 || k >= s->ndim)
        return wrong(b, 1, "a number of entries");
    if (s->shape[0])
        return interp_shape_val(b->vm, (int32_t)k, s->shape + (s->ndim - k));
    tn_error(b->vm->ctx, b->c->base.loc, TNB_SHAPE, "%s", filled_in(b, b->v[2]->name, s));
    return NULL;
}

static interp_val *
same(const builtin_call *b)
{
    return b->n ? interp_val_ref(b->v[0]) : wrong(b, 0, "a value");
}

static interp_val *
null_value(const builtin_call *b)
{
    return interp_val_new(b->vm, INTERP_V_NULL);
}

static interp_val *
read_if_cond(const builtin_call *b)
{
    int64_t i = 0;
    if (is(b, 0, INTERP_V_SCALAR))
        i = b->v[0]->scalar.i;
    else if (!is(b, 0, INTERP_V_TENSOR) || b->v[0]->ndim != 0 ||
             !tnb_load_i64(b->v[0]->mem->bytes + b->v[0]->offset, b->v[0]->dtype, 0, &i))
        return wrong(b, 0, "a scalar bool");
    interp_val *v = interp_int_val(b->vm, i != 0);
    if (v)
        v->dtype = TNB_B8;
    return v;
}

static interp_val *
tuple_getitem(const builtin_call *b)
{
    if (!is(b, 0, INTERP_V_TUPLE) || !is(b, 1, INTERP_V_SCALAR) || b->v[1]->scalar.u >= b->v[0]->n)
        return wrong(b, 0, "a tuple and an index into it");
    return interp_val_ref(b->v[0]->items[b->v[1]->scalar.i]);
}

/* Values are let go when nothing holds them any more: there is nothing to forget. */
static interp_val *
tuple_reset_item(const builtin_call *b)
{
    if (!is(b, 0, INTERP_V_TUPLE) || !is(b, 1, INTERP_V_SCALAR) || b->v[1]->scalar.u >= b->v[0]->n)
        return wrong(b, 0, "a tuple and an index into it");
    return done(b);
}

static interp_val *
make_tuple(const builtin_call *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        interp_val_ref(b->v[i]);
    return interp_tuple_val(b->vm, b->v, b->n);
}

static interp_val *
alloc_storage(const builtin_call *b)
{
    uint64_t bytes;
    if (!is(b, 0, INTERP_V_SHAPE))
        return wrong(b, 0, "a shape");
    if (!tnb_shape_count(b->v[0]->ndim, b->v[0]->shape, &bytes))
        return wrong(b, 0, "a size");
    interp_val *v = interp_val_new(b->vm, INTERP_V_STORAGE);
    if (v && !(v->mem = interp_mem_new(b->vm, bytes, b->c->base.loc))) {
        interp_val_unref(b->vm, v);
        return NULL;
    }
    return v;
}

/* ---- functions ---- */

static interp_val *
make_closure(const builtin_call *b)
{
    if (!is(b, 0, INTERP_V_FUNC))
        return wrong(b, 0, "a function");
    const interp_val *f = b->v[0];
    interp_val *v = interp_val_new(b->vm, INTERP_V_FUNC);
    uint32_t bound = f->n + b->n - 1;
    interp_val **items = v ? calloc((size_t)bound + f->n_captured + 1, sizeof *items) : NULL;
    if (!items) {
        interp_val_unref(b->vm, v);
        tn_error(b->vm->ctx, b->c->base.loc, TNB_NO_MEMORY, "no memory for a closure");
        return NULL;
    }
    for (uint32_t i = 0; i < f->n; i++)
        items[i] = interp_val_ref(f->items[i]);
    for (uint32_t i = 1; i < b->n; i++)
        items[f->n + i - 1] = interp_val_ref(b->v[i]);
    for (uint32_t i = 0; i < f->n_captured; i++)
        items[bound + i] = interp_val_ref(f->items[f->n + i]);
    v->node = f->node;
    v->name = f->name;
    v->m = f->m;
    v->vars = f->vars;
    v->n = bound;
    v->n_captured = f->n_captured;
    v->items = items;
    return v;
}

/* closure, then its arguments or one tuple of them */
static interp_val *
invoke_closure(const builtin_call *b)
{
    if (!is(b, 0, INTERP_V_FUNC))
        return wrong(b, 0, "a closure");
    bool packed = b->n == 2 && is(b, 1, INTERP_V_TUPLE);
    interp_val *const *args = packed ? b->v[1]->items : b->v + 1;
    return interp_call_val(b->vm, b->v[0], args, packed ? b->v[1]->n : b->n - 1, b->c->base.loc);
}

/* ---- worker groups, of which the interpreter is worker 0 and alone ---- */

/* The last argument is the result. Where it has room for more workers' tensors, these are taken to
 * be equal; where it is smaller, worker 0's part is the first. */
static interp_val *
collective(const builtin_call *b)
{
    const interp_val *x = b->n ? b->v[0] : NULL, *out = b->n ? b->v[b->n - 1] : NULL;
    uint64_t from, to;
    if (b->n < 2 || !is(b, 0, INTERP_V_TENSOR) || !is(b, b->n - 1, INTERP_V_TENSOR) ||
        !tnb_dtype_eq(x->dtype, out->dtype) || !interp_val_bytes(x, &from) ||
        !interp_val_bytes(out, &to) || (from == 0 && to != 0))
        return wrong(b, 0, "a tensor, and a result of its dtype at the end");
    for (uint64_t at = 0; at < to; at += from)
        memcpy(out->mem->bytes + out->offset + at, x->mem->bytes + x->offset,
               to - at < from ? to - at : from);
    interp_mem_written(out->mem);
    return done(b);
}

static interp_val *
worker_id(const builtin_call *b)
{
    int64_t zero = 0;
    return interp_shape_val(b->vm, 1, &zero);
}

static interp_val *
shape_to_tensor(const builtin_call *b)
{
    if (!is(b, 0, INTERP_V_SHAPE))
        return wrong(b, 0, "a shape");
    int64_t n = b->v[0]->ndim;
    interp_val *t = interp_tensor_new(b->vm, TNB_I64, 1, &n, b->c->base.loc);
    if (t) {
        memcpy(t->mem->bytes, b->v[0]->shape, (size_t)n * sizeof(int64_t));
        interp_mem_written(t->mem);
    }
    return t;
}

static bool
forget_written(const builtin_call *b, const interp_val *v)
{
    bool ok = !v->mem || interp_mem_forget(b->vm, v->mem, b->c->base.loc);
    for (uint32_t i = 0; ok && v->kind == INTERP_V_TUPLE && i < v->n; i++)
        ok = forget_written(b, v->items[i]);
    return ok;
}

/* cuda_graph.get_cached_alloc(function, slot): what the function allocated when it was first asked.
 * All who ask share it; nothing in it counts as written, which shows reads of what an earlier call
 * left there, and that a call has taken memory that its caller still uses. */
static interp_val *
graph_alloc(const builtin_call *b)
{
    if (!is(b, 0, INTERP_V_FUNC))
        return wrong(b, 0, "a function");
    interp_val *v = tnb_ptrmap_get(&b->vm->graph_allocs, b->v[0]->node);
    if (v)
        return forget_written(b, v) ? interp_val_ref(v) : NULL;
    v = interp_call_val(b->vm, b->v[0], NULL, 0, b->c->base.loc);
    if (v)
        tnb_ptrmap_set(&b->vm->graph_allocs, b->v[0]->node, interp_val_ref(v));
    return v;
}

/* cuda_graph.run_or_capture(function, tuple of arguments, slot[, shape]): the function, run */
static interp_val *
graph_run(const builtin_call *b)
{
    if (!is(b, 0, INTERP_V_FUNC) || !is(b, 1, INTERP_V_TUPLE))
        return wrong(b, 0, "a function and a tuple");
    return interp_call_val(b->vm, b->v[0], b->v[1]->items, b->v[1]->n, b->c->base.loc);
}

static const struct builtin_row {
    const char *name; /* without "vm.builtin." */
    interp_val *(*run)(const builtin_call *b);
} rows[] = {
    {"alloc_shape_heap", alloc_shape_heap},
    {"match_shape", match_shape},
    {"match_prim_value", match_prim_value},
    {"make_shape", make_shape},
    {"make_prim_value", make_prim_value},
    {"check_tensor_info", check_tensor_info},
    {"check_shape_info", check_shape_info},
    {"check_prim_value_info", check_prim_value_info},
    {"check_tuple_info", check_tuple_info},
    {"check_func_info", check_func_info},
    {"shape_of", shape_of},
    {"reshape", reshape},
    {"tensor_to_shape", tensor_to_shape},
    {"checked_shape", checked_shape},
    {"to_device", same},
    {"copy", same},
    {"stop_lift_params", same},
    {"ensure_zero_offset", same},
    {"null_value", null_value},
    {"read_if_cond", read_if_cond},
    {"tuple_getitem", tuple_getitem},
    {"tuple_reset_item", tuple_reset_item},
    {"make_tuple", make_tuple},
    {"alloc_storage", alloc_storage},
    {"make_closure", make_closure},
    {"invoke_closure", invoke_closure},
    {"call_tir_dyn", invoke_closure},
    {"cuda_graph.get_cached_alloc", graph_alloc},
    {"cuda_graph.run_or_capture", graph_run},
};

/* A call in destination-passing style of a function of the module: what it gives goes into the
 * arguments that follow its parameters. */
static interp_val *
call_into(builtin_call *b, const tn_module *m, const tn_node *f, uint32_t n_params)
{
    interp *vm = b->vm;
    uint32_t n_out = b->n - n_params;
    interp_val *const *outs = b->v + n_params;
    interp_val *r = interp_call_func(vm, m, b->name, f, b->v, n_params, NULL, b->c->base.loc);
    if (!r)
        return NULL;
    bool many = r->kind == INTERP_V_TUPLE, ok = (many ? r->n : 1) == n_out;
    if (!ok)
        tn_error(vm->ctx, b->c->base.loc, TNB_TYPE, "%s: %s gives %u results, expected %u",
                 b->env->func, b->name, many ? r->n : 1, n_out);
    for (uint32_t i = 0; ok && i < n_out; i++)
        ok = interp_copy_into(vm, b->env, b->c, outs[i], many ? r->items[i] : r);
    interp_val_unref(vm, r);
    return ok ? interp_tuple_val(vm, NULL, 0) : NULL;
}

/* (condition, text, values...) */
static interp_val *
assert_that(const builtin_call *b)
{
    int64_t holds = 0;
    if (b->n < 2 || !is(b, 1, INTERP_V_STR))
        return wrong(b, 1, "a text");
    const interp_val *v = b->v[0];
    if (v->kind == INTERP_V_SCALAR)
        holds = v->scalar.i;
    else if (v->kind != INTERP_V_TENSOR ||
             !tnb_load_i64(v->mem->bytes + v->offset, v->dtype, 0, &holds))
        return wrong(b, 0, "a condition");
    return holds ? done(b)
                 : interp_assertion_failed(b->vm, b->env, b->c, b->v[1]->name, b->v + 2, b->n - 2);
}

static const struct builtin_row others[] = {
    {"relax.run.assert_op", assert_that},
    {"relax.run.shape_to_tensor", shape_to_tensor},
    {"runtime.disco.allgather", collective},
    {"runtime.disco.allreduce", collective},
    {"runtime.disco.broadcast_from_worker0", collective},
    {"runtime.disco.scatter_from_worker0", collective},
    {"runtime.disco.worker_id", worker_id},
};

/* The function of a module that computes what an external one does, if that is there. */
static interp_val *
call_meaning(builtin_call *b, const tn_module *m, const char *function, bool *known)
{
    const tn_node *f = m ? tn_module_get(m, function) : NULL;
    *known = f && !tn_is(f, TN_KIND_EXTERN_FUNC);
    if (!*known)
        return NULL;
    if (tn_is(f, TN_KIND_FUNCTION) && b->n > tn_as_function(f)->params.n)
        return call_into(b, m, f, tn_as_function(f)->params.n);
    return interp_call_func(b->vm, m, function, f, b->v, b->n, NULL, b->c->base.loc);
}

/* What a plugin says of a packed function, as a module; NULL: nothing, or after an error. */
static const tn_module *
meaning_of(interp *vm, const char *name, tn_loc loc)
{
    const tn_module *m = tnb_strmap_get(&vm->meanings, name);
    tn_registry *reg = tn_ctx_registry(vm->ctx);
    const tn_meaning *e = reg && !m ? tn_find_entry(reg, "meaning", name, NULL) : NULL;
    if (!e || !e->text)
        return m;
    m = tn_read_module(vm->ctx, tn_strf(vm->ctx, "meaning of %s", name), e->text, strlen(e->text));
    if (m && !tn_module_get(m, "meaning")) {
        tn_error(vm->ctx, loc, TNB_INVALID, "the meaning of '%s' has no function `meaning`", name);
        m = NULL;
    }
    if (m)
        tnb_strmap_set(&vm->meanings, tn_str(vm->ctx, name), m);
    return m;
}

interp_val *
interp_builtin(interp *vm, interp_env *env, const char *name, interp_val *const *args, uint32_t n,
               const tn_call *c)
{
    static const char prefix[] = "vm.builtin.";
    builtin_call b = {vm, env, name, args, n, c};
    if (strncmp(name, prefix, sizeof prefix - 1) == 0)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (strcmp(rows[i].name, name + sizeof prefix - 1) == 0)
                return rows[i].run(&b);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i].name, name) == 0)
            return others[i].run(&b);
    /* a function of the module may be named like an external one: its meaning */
    bool known = false;
    interp_val *r = call_meaning(&b, env->m, name, &known);
    if (!known)
        r = interp_foreign(vm, env, name, args, n, c, &known);
    uint32_t errors = tnb_diags_errors(tn_diags(vm->ctx));
    if (!known)
        r = call_meaning(&b, meaning_of(vm, name, c->base.loc), "meaning", &known);
    if (known || tnb_diags_errors(tn_diags(vm->ctx)) != errors)
        return r;
    tn_error(vm->ctx, c->base.loc, TNB_NOT_FOUND, "%s: the interpreter has no packed function '%s'",
             env->func, name);
    if (!tn_note_unusable(vm->ctx, "meaning", name))
        tnb_diag_hint(
            tn_diags(vm->ctx),
            "a plugin says what it computes with an entry of its table `meanings`: tn_meaning "
            "in tenon/core/eval.h");
    return NULL;
}
